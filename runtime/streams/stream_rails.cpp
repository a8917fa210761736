// Where a link listens, and which of a peer's addresses a connection takes.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "runtime/base/assert.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/sockets/tcp_socket.hpp"
#include "runtime/streams/stream_link_impl.hpp"

namespace tidegate::runtime {

namespace {

constexpr int ports_tried = 16;

}  // namespace

// At the same port everywhere. One that the system gives at the first address may be in use at
// another, so several are tried. An address that the host does not have now, as of a network
// that is away, is left out, if it has another.
status stream_link::listen() {
  TIDEGATE_ASSERT(!options_.addresses.empty(), "a link has an address");
  for (int left = ports_tried; left > 0; --left) {
    std::vector<status> failures;
    listeners_.clear();
    for (const auto& address : options_.addresses) {
      const auto port = listeners_.empty() ? std::uint16_t{0} : port_of(listeners_[0].get());
      auto listener = listen_on(address, port);
      if (listener)
        listeners_.push_back(std::move(*listener));
      else
        failures.push_back(listener.error());
    }
    if (listeners_.empty()) return failures.front();
    const auto is_taken = [](const status& failure) {
      return failure.message().ends_with(std::strerror(EADDRINUSE));
    };
    if (left > 1 && std::ranges::any_of(failures, is_taken)) continue;
    for (const auto& failure : failures) log::warn("does without " + failure.message());
    return {};
  }
  return {};
}

// Both ends of a pair take the same, so that what is acknowledged goes where the payload does.
std::size_t stream_link::rail_to(const stream_address& where) const {
  const auto of_pair = mix64(home_.own.link ^ where.link);
  const auto before =
      std::count_if(outgoing_.begin(), outgoing_.end(), [&](const outgoing_stream& other) {
        return other.link() == where.link && !other.is_alive();
      });
  return (of_pair + static_cast<std::uint64_t>(before)) % where.hosts.size();
}

}  // namespace tidegate::runtime
