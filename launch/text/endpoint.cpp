#include "launch/text/endpoint.hpp"

#include "launch/text/scalars.hpp"

namespace tidegate::launch {

namespace {

constexpr std::uint64_t port_max = 65535;

}  // namespace

std::optional<endpoint> parse_endpoint(const std::string& text, std::uint16_t default_port) {
  endpoint place{.host = text, .port = default_port};
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
  if (!port) return place;
  const auto number = parse_unsigned(*port);
  if (!number || *number > port_max) return std::nullopt;
  place.port = static_cast<std::uint16_t>(*number);
  return place;
}

std::string to_string(const endpoint& place) {
  const bool is_v6 = place.host.find(':') != std::string::npos;
  return (is_v6 ? "[" + place.host + "]" : place.host) + ":" + std::to_string(place.port);
}

}  // namespace tidegate::launch
