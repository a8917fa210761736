// Where something listens, as users write it. Pure, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tidegate::launch {

struct endpoint {
  std::string host;  // a name or an address
  std::uint16_t port = 0;
};

// Parses "name:7000", "10.0.0.1:7000" and "[fd00::1]:7000"; without a port it is the default
// one. Returns nullopt for anything else.
std::optional<endpoint> parse_endpoint(const std::string& text, std::uint16_t default_port);
// The text that parse_endpoint() reads back.
std::string to_string(const endpoint& place);

}  // namespace tidegate::launch
