// How a process is reached: which host's memory it can share, and the address of its link.
//
//   16 hex digits of runtime::host_identity(), or zeros: shares with nobody | the link's
//   address
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "runtime/transport/link.hpp"

namespace tidegate::actors {

inline constexpr std::size_t host_digits = 16;

inline std::string peer_address(std::uint64_t host, std::string_view link) {
  char digits[host_digits + 1];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(host));
  return std::string(digits) + std::string(link);
}

inline std::string_view link_of(std::string_view address) {
  return address.substr(address.size() < host_digits ? address.size() : host_digits);
}

inline bool share_memory(std::string_view one, std::string_view other) {
  const auto host = one.substr(0, host_digits);
  return host == other.substr(0, host_digits) && host != "0000000000000000";
}

// Links of one host may use what only reaches that host.
inline runtime::reach reach_of(std::string_view one, std::string_view other) {
  const bool same = one.substr(0, host_digits) == other.substr(0, host_digits);
  return same ? runtime::reach::host : runtime::reach::network;
}

}  // namespace tidegate::actors
