#include "runtime/streams/stream_address.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <utility>

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

tl::unexpected<status> no_address(std::string_view text) {
  std::string message("'");
  message += text;
  message += "' is no address of a link over streams";
  return fail(errc::invalid_argument, std::move(message));
}

}  // namespace

std::string to_string(const stream_address& address) {
  std::array<char, number_digits + 1> number{};
  std::snprintf(number.data(), number.size(), "%016llx",
                static_cast<unsigned long long>(address.link));
  auto text = std::string(prefix) + number.data() + ":" + std::to_string(address.port);
  auto separator = ':';
  for (const auto& host : address.hosts) {
    text += separator;
    text += host;
    separator = ',';
  }
  return text;
}

expected<stream_address> parse_stream_address(std::string_view text) {
  if (!text.starts_with(prefix)) return no_address(text);
  auto rest = text.substr(prefix.size());
  stream_address address;
  if (rest.size() < number_digits + 1 || rest[number_digits] != ':' ||
      !parse_number(rest.substr(0, number_digits), address.link, 16) || address.link == 0)
    return no_address(text);
  rest.remove_prefix(number_digits + 1);
  const auto colon = rest.find(':');
  if (colon == std::string_view::npos ||
      !parse_number(rest.substr(0, colon), address.port, 10) || address.port == 0)
    return no_address(text);
  rest.remove_prefix(colon + 1);
  for (;;) {
    const auto host = rest.substr(0, rest.find(','));
    if (host.empty()) return no_address(text);
    address.hosts.emplace_back(host);
    if (host.size() == rest.size()) return address;
    rest.remove_prefix(host.size() + 1);
  }
}

}  // namespace tidegate::runtime
