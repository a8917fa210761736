// The address of a link over streams, as link::address() returns it: which link it is, and
// where it listens. Text, so that it can be read in logs:
//
//   stream:NUMBER:PORT:HOST[,HOST]...
//
// NUMBER: of the link, 16 hexadecimal digits; HOST: an IP address, in each of its networks.
//
// Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.hpp"

namespace tidegate::runtime {

struct stream_address {
  std::uint64_t link = 0;          // drawn by each link, not 0
  std::uint16_t port = 0;          // the same at all addresses
  std::vector<std::string> hosts;  // at least one

  friend bool operator==(const stream_address&, const stream_address&) = default;
};

std::string to_string(const stream_address& address);
// Errors: invalid_argument.
expected<stream_address> parse_stream_address(std::string_view text);

}  // namespace tidegate::runtime
