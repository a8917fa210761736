// Where a link listens, and which of a peer's addresses a connection takes.
#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/sockets/tcp_socket.hpp"
#include "runtime/streams/stream_link_impl.hpp"

namespace tidegate::runtime {

namespace {

constexpr int ports_tried = 16;

}  // namespace

// At the same port everywhere. One that the system gives at the first address may be in use at
// another, so several are tried.
status stream_link::listen() {
  TIDEGATE_ASSERT(!options_.addresses.empty(), "a link has an address");
  status listens;
  for (int left = ports_tried; left > 0; --left) {
    listeners_.clear();
    listens = listen_at(0);
    while (listens.ok() && listeners_.size() < options_.addresses.size())
      listens = listen_at(port_of(listeners_.front().get()));
    if (listens.ok() || listeners_.empty()) break;
  }
  return listens;
}

status stream_link::listen_at(std::uint16_t port) {
  auto listener = listen_on(options_.addresses[listeners_.size()], port);
  if (!listener) return listener.error();
  listeners_.push_back(std::move(*listener));
  return {};
}

// Both ends of a pair take the same, so that what is acknowledged goes where the payload does.
std::size_t stream_link::rail_to(const stream_address& where) const {
  const auto of_pair = mix64(home_.own.link ^ where.link);
  const auto before =
      std::count_if(outgoing_.begin(), outgoing_.end(),
                    [&](const outgoing_stream& other) { return other.link() == where.link; });
  return (of_pair + static_cast<std::uint64_t>(before)) % where.hosts.size();
}

}  // namespace tidegate::runtime
