// The link over TCP connections of its own ("streams"), between hosts: payload is read from the
// socket into its place, and each connection proves the run's key before anything else is read
// from it (stream_handshake.hpp), so no stranger has a say. With `sealed`, what crosses the
// network is encrypted and authenticated (record_cipher.hpp).
//
// A connection carries frames one way, so two links that are connected to each other have two.
// Links that have several addresses ("rails") use one for a connection: which follows from both
// links, so that pairs are spread over all, and a connection that is made again takes the next.
// A frame is its header and its payload, one after the other; a bundle is its frames. One epoll
// instance per link. What a link owes and is owed is in runtime/transport/link.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/secret.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/stranger_room.hpp"
#include "runtime/transport/link.hpp"

namespace tidegate::runtime {

struct stream_options {
  // At which other hosts reach this one, and where alone the link listens: IP addresses, or
  // names of such, of different networks. At least one.
  std::vector<std::string> addresses{"127.0.0.1"};
  digest key{};         // of the run; the same at all links of a cluster
  bool sealed = false;  // likewise
  // A connection ends when bytes have gone unacknowledged for so long, and must be made and
  // proven within it; 0: 10 s.
  std::uint32_t silent_ms = 0;
  stranger_limits strangers{.strangers_max = 64};  // as many descriptors at most
};

// Errors: unavailable (no address is of this host), over_limit (no descriptor is left).
expected<std::unique_ptr<link>> open_stream_link(const stream_options& options);

}  // namespace tidegate::runtime
