// Answers HTTP requests on threads of its own, so that nobody who asks can keep its owner from
// anything: few threads, few connections that wait, one request of some KiB in each, and five
// seconds for it. It only reads: GET and HEAD of documents that its owner names. The protocol
// is cpp-httplib's.
//
// Where no key is set, the address is of loopback, and whoever reaches it is answered, unless a
// document is for this process's user (is_of_user); a request that names another host (a page
// elsewhere whose name was turned to this address) is refused. Where one is set, a request must
// bring it, as a bearer token or as the password of Basic authentication, which browsers ask
// their users for. TLS is not spoken.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/status.hpp"

namespace tidegate::launch {

struct http_request {
  std::string accept;                             // the header of that name
  std::map<std::string, std::string> parameters;  // of the query, decoded

  // Empty where it is not given.
  std::string parameter(const std::string& name) const {
    const auto at = parameters.find(name);
    return at == parameters.end() ? std::string() : at->second;
  }
};

struct http_answer {
  std::string type = {};
  std::shared_ptr<const std::string> text;
  int status = 200;
  // Names a text that does not change, so that a browser that has it is spared of it.
  std::string tag = {};
  std::string content_policy = {};  // Content-Security-Policy; empty: without
};

struct http_document {
  std::string path;
  // Called on any thread, several at once.
  std::function<http_answer(const http_request& request)> read;
  // The key is not wanted for it: it says nothing of a run.
  bool is_public = false;
  // Where no key is set, only processes of this process's user, and root's, are answered.
  bool is_of_user = false;
};

class http_server {
 public:
  // `port` 0: the system chooses. Errors: already_exists (the port is in use), unavailable (the
  // address is not of this host).
  static runtime::expected<std::unique_ptr<http_server>> listen(
      const std::string& host, std::uint16_t port, const std::string& key,
      std::vector<http_document> documents);
  // Ends what is under way.
  virtual ~http_server() = default;
  http_server(const http_server&) = delete;
  http_server& operator=(const http_server&) = delete;

  virtual std::uint16_t port() const = 0;
  // Returns false once nobody is answered any more: the system has refused to hand out
  // connections.
  virtual bool is_listening() const = 0;

 protected:
  http_server() = default;
};

// Reads a key of 16 bytes or more, without the white space around it, from a file that its
// owner alone can read. Errors: those of reading; invalid_argument; refused (others can read
// it).
runtime::expected<std::string> read_monitor_key(const std::string& path);

}  // namespace tidegate::launch
