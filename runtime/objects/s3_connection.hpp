// Signed requests to one bucket (AWS Signature Version 4), one at a time, over a connection
// that is kept: libcurl's. What the store answers is a value, whatever it says; nothing is
// tried again here. One thread; blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/object_place.hpp"
#include "runtime/base/status.hpp"
#include "runtime/objects/s3_account.hpp"

namespace tidegate::runtime {

enum class s3_verb : std::uint8_t { get, head, put, post, remove };

struct s3_request {
  s3_verb verb = s3_verb::get;
  std::string key = {};  // empty: of the bucket
  // By name, ascending, as they are signed.
  std::vector<std::pair<std::string, std::string>> query = {};
  std::vector<std::string> headers = {};  // "name: value"
  std::span<const std::byte> body = {};
  // Of the object's bytes those from here on, as many as `into` takes.
  std::optional<std::uint64_t> offset = {};
  std::span<std::byte> into = {};
  std::uint32_t stalled_s = 0;  // given up when no byte has moved for so long
};

struct s3_answer {
  long status = 0;          // of HTTP; 0: none has come
  std::string tag = {};     // the ETag, with its quotes
  std::uint64_t bytes = 0;  // that `into` has; of head: that the object has
  bool is_cut = false;      // more came than `into` has room for, and was not read
  std::string text = {};    // what came elsewhere, up to a limit
  // Where no answer has come: why, and whether the request may have been carried out.
  std::string failure = {};
  bool may_have_arrived = false;

  bool is_good() const noexcept { return status >= 200 && status < 300; }
};

class s3_connection {
 public:
  // `connect_ms`: an attempt to connect is given up after so long. Errors: those of the_curl();
  // unavailable (it has no memory).
  static expected<s3_connection> open(s3_account account, object_place place,
                                      std::uint32_t connect_ms);
  ~s3_connection();
  s3_connection(s3_connection&&) noexcept;
  s3_connection& operator=(s3_connection&&) noexcept;

  s3_answer ask(const s3_request& request);
  const object_place& place() const noexcept { return place_; }
  const s3_account& account() const noexcept { return account_; }

 private:
  struct handle;
  s3_connection(s3_account account, object_place place, std::uint32_t connect_ms,
                std::unique_ptr<handle> curl);
  std::string address_of(const s3_request& request) const;

  s3_account account_;
  object_place place_;
  std::uint32_t connect_ms_;
  std::unique_ptr<handle> curl_;
};

// As addresses are signed: all but letters, digits and - . _ ~ as %XX; '/' too in a query.
std::string percent_encoded(std::string_view text, bool keeps_slashes);

}  // namespace tidegate::runtime
