#include "runtime/streams/stream_address.hpp"

#include <array>
#include <charconv>
#include <cstdio>

namespace tidegate::runtime {

namespace {

constexpr std::string_view prefix = "stream:";
constexpr std::size_t number_digits = 16;

template <class Number>
bool parse_number(std::string_view text, Number& number, int base) {
  const auto* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number, base);
  return parsed.ec == std::errc{} && parsed.ptr == end;
}

}  // namespace

std::string to_string(const stream_address& address) {
  std::array<char, number_digits + 1> number{};
  std::snprintf(number.data(), number.size(), "%016llx",
                static_cast<unsigned long long>(address.link));
  return std::string(prefix) + number.data() + ":" + std::to_string(address.port) + ":" +
         address.host;
}

expected<stream_address> parse_stream_address(std::string_view text) {
  const auto wrong = fail(errc::invalid_argument,
                          "'" + std::string(text) + "' is no address of a link over streams");
  if (!text.starts_with(prefix)) return wrong;
  auto rest = text.substr(prefix.size());
  stream_address address;
  if (rest.size() < number_digits + 1 || rest[number_digits] != ':' ||
      !parse_number(rest.substr(0, number_digits), address.link, 16) || address.link == 0)
    return wrong;
  rest.remove_prefix(number_digits + 1);
  const auto colon = rest.find(':');
  if (colon == std::string_view::npos ||
      !parse_number(rest.substr(0, colon), address.port, 10) || address.port == 0)
    return wrong;
  address.host = rest.substr(colon + 1);
  if (address.host.empty()) return wrong;
  return address;
}

}  // namespace tidegate::runtime
