// Ends TCP connections of UCX's over which the network drops everything.
//
// A network that reports nothing is noticed by the kernel alone: bytes that nobody acknowledges
// are sent again for a quarter of an hour, unless the socket has TCP_USER_TIMEOUT (RFC 5482).
// UCX 1.13 does not set it and does not hand its sockets out. Those that it connects have the
// keep-alive that its configuration asks for: this process asks for one that nobody else has,
// and knows them by it. Those that it accepts have what its listening socket has. A connection
// that has ended is made again, or told of, by those who use it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/base/periodic_thread.hpp"

namespace tidegate::runtime {

// Keep-alive of a socket, in seconds and in probes.
struct keepalive {
  int idle_s = 0;
  int pause_s = 0;
  int probes = 0;

  friend bool operator==(const keepalive&, const keepalive&) = default;
};

// By which UCX's sockets are known. How many probes are sent before the end is up to
// TCP_USER_TIMEOUT where that is set.
keepalive keepalive_within(std::uint32_t silent_ms);

// Sets TCP_USER_TIMEOUT of those TCP sockets of this process that have this keep-alive and no
// such time-out yet. Returns how many.
int limit_streams(const keepalive& known_by, std::uint32_t silent_ms);

// TCP sockets of this process that listen, in ascending order.
std::vector<int> listening_sockets();
// Sets keep-alive and TCP_USER_TIMEOUT of what these will accept.
void limit_accepted(std::span<const int> listening, std::uint32_t silent_ms);

// Looks for new sockets twice a second on a thread of its own, as UCX connects when it likes.
// Threads: any.
class stream_guard {
 public:
  // The guard of this process, which all links share; `silent_ms` counts when it begins.
  static std::shared_ptr<stream_guard> of_process(std::uint32_t silent_ms);

  explicit stream_guard(std::uint32_t silent_ms);

 private:
  periodic_thread thread_;
};

}  // namespace tidegate::runtime
