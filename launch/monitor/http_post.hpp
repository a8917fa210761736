// Posts documents to one address over HTTP or HTTPS, one at a time, over a connection that is
// kept: libcurl's, which is loaded when it is first used. All that it takes has a limit: the
// time of a request, names being resolved among it, and the bytes of an answer. Redirects are
// not followed. One thread; blocks.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/status.hpp"

namespace tidegate::launch {

struct http_target {
  std::string url;
  std::vector<std::string> headers = {};  // "Name: value"
  std::string certificates = {};          // a file of those trusted, PEM; empty: the system's
};

class http_post {
 public:
  // Errors: not_found (no libcurl that is new enough, or one without TLS for https).
  static runtime::expected<std::unique_ptr<http_post>> open(http_target target);
  virtual ~http_post() = default;
  http_post(const http_post&) = delete;
  http_post& operator=(const http_post&) = delete;

  // Returns the answer's body, of which as much as a person reads is kept. `is_over`: another
  // thread may set it, and the request is given up within a second. Errors: unavailable (no
  // answer); refused (an answer other than 2xx). Messages name the address.
  virtual runtime::expected<std::string> send(const std::string& json, std::int64_t timeout_ms,
                                              const std::atomic<bool>& is_over) = 0;

 protected:
  http_post() = default;
};

// Reads lines "Name: value" from a file that its owner alone can read; empty ones and those
// that begin with # are passed over. Errors: those of read_private_file(); invalid_argument.
runtime::expected<std::vector<std::string>> read_headers(const std::string& path);

}  // namespace tidegate::launch
