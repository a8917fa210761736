#include "runtime/device/device_name.hpp"

#include <charconv>
#include <string>
#include <utility>

namespace tidegate::runtime::devices {

namespace {

status refuse(std::string_view text) {
  std::string message(text);
  message += " is not a device; write cuda:N or emulated:N, with N from 0 to " +
             std::to_string(device_index_max);
  return {errc::invalid_argument, std::move(message)};
}

}  // namespace

expected<device_name> parse_device_name(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return fail(refuse(text));
  const auto kind = text.substr(0, colon);
  const auto digits = text.substr(colon + 1);
  device_name name;
  if (kind == "cuda") {
    name.kind = backend::cuda;
  } else if (kind != "emulated") {
    return fail(refuse(text));
  }
  const auto* end = digits.data() + digits.size();
  const auto number = std::from_chars(digits.data(), end, name.index);
  const bool is_number = number.ec == std::errc() && number.ptr == end;
  if (!is_number || name.index > device_index_max) return fail(refuse(text));
  return name;
}

}  // namespace tidegate::runtime::devices
