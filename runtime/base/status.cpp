#include "runtime/base/status.hpp"

namespace tidegate {

std::string_view to_string(errc code) noexcept {
  switch (code) {
    case errc::ok:
      return "ok";
    case errc::invalid_argument:
      return "invalid_argument";
    case errc::not_found:
      return "not_found";
    case errc::already_exists:
      return "already_exists";
    case errc::out_of_order:
      return "out_of_order";
    case errc::unavailable:
      return "unavailable";
    case errc::refused:
      return "refused";
    case errc::timed_out:
      return "timed_out";
    case errc::io_error:
      return "io_error";
    case errc::not_finite:
      return "not_finite";
    case errc::over_limit:
      return "over_limit";
    case errc::cancelled:
      return "cancelled";
    case errc::corrupt:
      return "corrupt";
    case errc::no_space:
      return "no_space";
  }
  return "unknown";
}

std::string status::to_string() const {
  if (ok()) return "ok";
  return std::string(runtime::to_string(code_)) + ": " + message_;
}

}  // namespace tidegate
