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
// one, if there is a default. Returns nullopt for anything else.
std::optional<endpoint> parse_endpoint(const std::string& text,
                                       std::optional<std::uint16_t> default_port);
// The text that parse_endpoint() reads back.
std::string to_string(const endpoint& place);

// Returns true for an IPv4 or IPv6 address, and false for a name.
bool is_address(const std::string& host);
// Returns true for an address of loopback.
bool is_loopback(const std::string& host);

}  // namespace tidegate::launch
