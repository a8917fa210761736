// What a link over streams asks of the system for one socket, of this folder alone. Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::runtime {

// How long a connection may take to be made and proven, in nanoseconds; silent_ms 0: 10 s.
std::int64_t stream_patience_ns(std::uint32_t silent_ms) noexcept;

// Begins to connect to an IP address. Errors: unavailable, io_error.
expected<unique_fd> begin_stream(const std::string& host, std::uint16_t port);
// No delay, an end when the other host is silent for so long while nothing is under way (0:
// 10 s), and a bound on what waits in the kernel, which nothing can overtake.
void prepare_stream(int socket, std::uint32_t silent_ms) noexcept;
// What is known of acknowledgements by the other host's kernel.
struct stream_acks {
  bool is_owed = false;      // for what was sent; not while its process does not read
  bool has_unsent = false;   // something waits in this kernel
  std::int64_t last_ns = 0;  // so long ago the last one came
};
stream_acks acks_of(int socket) noexcept;
// Ends the connection for all who have the socket, a process that was forked among them.
void shut_down(int socket) noexcept;
// Between two ends on one host nothing is gained by pacing (BBR).
void prefer_reno_on_one_host(int socket) noexcept;
// Returns why a connection that this end only sends over has ended.
std::string why_ended(int socket);

}  // namespace tidegate::runtime
