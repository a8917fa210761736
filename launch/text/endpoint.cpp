#include "launch/text/endpoint.hpp"

#include <arpa/inet.h>
#include <array>

#include "launch/text/scalars.hpp"

namespace tidegate::launch {

namespace {

constexpr std::uint64_t port_max = 65535;

bool is_of(int family, const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> parsed{};
  return ::inet_pton(family, host.c_str(), parsed.data()) == 1;
}

}  // namespace

std::optional<endpoint> parse_endpoint(const std::string& text,
                                       std::optional<std::uint16_t> default_port) {
  endpoint place{.host = text, .port = default_port.value_or(0)};
  std::optional<std::string> port;
  const auto colon = text.rfind(':');
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string::npos) return std::nullopt;
    place.host = text.substr(1, end - 1);
    const auto rest = text.substr(end + 1);
    if (!rest.empty() && !rest.starts_with(':')) return std::nullopt;
    if (!rest.empty()) port = rest.substr(1);
  } else if (colon != std::string::npos && text.find(':') == colon) {
    place.host = text.substr(0, colon);
    port = text.substr(colon + 1);
  }
  if (place.host.empty()) return std::nullopt;
  if (!port) return default_port ? std::optional(place) : std::nullopt;
  const auto number = parse_unsigned(*port);
  if (!number || *number > port_max) return std::nullopt;
  place.port = static_cast<std::uint16_t>(*number);
  return place;
}

std::string to_string(const endpoint& place) {
  const bool is_v6 = place.host.find(':') != std::string::npos;
  return (is_v6 ? "[" + place.host + "]" : place.host) + ":" + std::to_string(place.port);
}

bool is_address(const std::string& host) {
  return is_of(AF_INET, host) || is_of(AF_INET6, host);
}

bool is_loopback(const std::string& host) {
  return host == "::1" || (host.starts_with("127.") && is_of(AF_INET, host));
}

}  // namespace tidegate::launch
