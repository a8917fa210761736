// Where a link listens, and which of a peer's addresses a connection takes.
#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/one_port.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/sockets/tcp_socket.hpp"
#include "runtime/streams/stream_link_impl.hpp"

namespace tidegate::runtime {

// Without an address that the host does not have now, if it has another.
status stream_link::listen() {
  TIDEGATE_ASSERT(!options_.addresses.empty(), "a link has an address");
  auto [listeners, failures] = listen_at_one_port<unique_fd>(
      options_.addresses, listen_on,
      [](const unique_fd& listener) { return port_of(listener.get()); });
  if (listeners.empty()) return failures.front();
  for (const auto& failure : failures) log::warn("does without " + failure.message());
  listeners_ = std::move(listeners);
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
