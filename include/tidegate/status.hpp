// What an operation that can fail for outside reasons returns.
//
// Operating errors (a peer is gone, a file is missing, input is wrong) are values of type
// `status` or `expected<T>`. A message says what happened, where, and what to do. Bugs are not
// reported this way: they end the process with an assertion. Value types, no thread rule.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace tidegate {

// What kind of thing went wrong. The numbers are stable: they travel in frames and messages.
enum class errc : std::uint16_t {
  ok = 0,
  invalid_argument = 1,  // the caller's input is wrong; trying again does not help
  not_found = 2,
  already_exists = 3,
  out_of_order =
      4,            // the call is right, its moment is not (a pull after the push of its clock)
  unavailable = 5,  // a peer or service is not there
  refused = 6,      // a peer answered and said no
  timed_out = 7,
  io_error = 8,
  not_finite = 9,   // NaN or infinity in a gradient
  over_limit = 10,  // a bound of limits.hpp was reached
  cancelled = 11,
  corrupt = 12,   // bytes that do not decode
  no_space = 13,  // a disk is full
};

// Returns "invalid_argument" and the like, for logs and messages; valid for ever.
std::string_view to_string(errc code) noexcept;

// The outcome of an operation: success, or a code and a message for people.
class [[nodiscard]] status {
 public:
  status() = default;  // success
  status(errc code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const noexcept { return code_ == errc::ok; }
  explicit operator bool() const noexcept { return ok(); }
  errc code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }

  // Returns "invalid_argument: <message>", or "ok".
  std::string to_string() const;

  friend bool operator==(const status&, const status&) = default;

 private:
  errc code_ = errc::ok;
  std::string message_;
};

template <class T>
using expected = tl::expected<T, status>;

// Make the error of an expected<T>: `return fail(errc::not_found, "...")`.
inline tl::unexpected<status> fail(errc code, std::string message) {
  return tl::unexpected<status>(status(code, std::move(message)));
}
inline tl::unexpected<status> fail(status why) {
  return tl::unexpected<status>(std::move(why));
}

}  // namespace tidegate
