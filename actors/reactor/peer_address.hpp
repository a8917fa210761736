// How a process is reached: which host's memory it can share, which process of that host it is,
// and the address of its link.
//
//   16 hex digits of runtime::host_identity(), or zeros: shares with nobody | 8 of the pid,
//   16 of when it started | the link's address
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/status.hpp"
#include "runtime/process/process_mark.hpp"
#include "runtime/transport/link.hpp"

namespace tidegate::actors {

inline constexpr std::size_t host_digits = 16;
inline constexpr std::size_t place_digits = host_digits + 8 + 16;

// Of this process.
std::string peer_address(std::uint64_t host, std::string_view link);

inline std::string_view link_of(std::string_view address) {
  return address.substr(address.size() < place_digits ? address.size() : place_digits);
}

inline bool share_memory(std::string_view word, std::string_view other) {
  const auto host = word.substr(0, host_digits);
  return host == other.substr(0, host_digits) && host != "0000000000000000";
}

// Links of one host may use what only reaches that host.
inline runtime::reach reach_of(std::string_view word, std::string_view other) {
  const bool same = word.substr(0, host_digits) == other.substr(0, host_digits);
  return same ? runtime::reach::host : runtime::reach::network;
}

// Process 0 stands for no address.
runtime::process_mark process_of(std::string_view address);

// Another process has taken the place of this one. If it lives and reads `mine`, our memory, in
// place, it is ended before that memory is written again, unless it has closed its link: then
// it reads nothing any more. Errors: it cannot be.
runtime::status fence(std::string_view mine, std::string_view replaced);

}  // namespace tidegate::actors
