#include "actors/control/reach_peers.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <poll.h>
#include <system_error>
#include <thread>
#include <utility>

#include "actors/control/connection.hpp"
#include "policies/model/millisecond.hpp"
#include "policies/protocol/handshake.hpp"
#include "runtime/base/secret.hpp"
#include "runtime/base/service_thread.hpp"
#include "runtime/base/unique_fd.hpp"
#include "runtime/base/unix_time.hpp"
#include "runtime/sockets/tcp_socket.hpp"

namespace tidegate::actors {

namespace {

using policies::handshake_state;
using policies::millisecond;

using resolved = runtime::expected<runtime::socket_addresses>;

bool is_readable(int fd) {
  return runtime::is_ready(fd, POLLIN, 0);
}

// Asks for the addresses of all at once, before the first is connected to: who knows names may
// take their time, and a peer that is connected to waits for words. Returns as many, or nothing
// if `stop` has become readable.
std::optional<std::vector<resolved>> resolve_all(const std::vector<policies::peer_place>& peers,
                                                 int stop) {
  constexpr std::size_t threads_most = 16;
  std::vector<resolved> all;
  for (std::size_t i = 0; i < peers.size(); ++i)
    all.push_back(runtime::fail(runtime::errc::cancelled, "nobody has asked"));
  std::atomic<std::size_t> next = 0;
  const auto ask = [&] {
    for (auto i = next++; i < peers.size() && !is_readable(stop); i = next++)
      all[i] = runtime::resolve(peers[i].address, peers[i].port);
  };
  std::vector<std::thread> threads;
  try {
    for (std::size_t i = 1; i < std::min(peers.size(), threads_most); ++i)
      threads.push_back(runtime::start_service_thread(ask));
  } catch (const std::system_error&) {  // the system has room for no more: fewer do as well
  }
  ask();
  for (auto& thread : threads) thread.join();
  if (is_readable(stop)) return std::nullopt;
  return all;
}

// One of them: connects to each address that it has, until one answers as it should.
class attempt {
 public:
  attempt(const policies::peer_place& place, resolved found, std::uint64_t token,
          const reach_limits& limits)
      : place_(place),
        token_(token),
        limits_(limits),
        addresses_(nullptr, &::freeaddrinfo),
        handshake_(token, {}) {
    if (!found) {
      why_ = found.error().message();
      return;
    }
    addresses_ = std::move(*found);
    next_ = addresses_.get();
    try_next();
  }

  bool is_over() const noexcept { return !connection_; }
  const std::string& why() const noexcept { return why_; }  // empty: it was reached
  policies::host_number host() const noexcept { return place_.host; }
  const std::string& address() const noexcept { return place_.address; }
  std::int64_t until() const noexcept { return until_; }
  pollfd awaited() const noexcept {
    return {.fd = connection_.get(),
            .events = static_cast<short>(is_connected_ ? POLLIN : POLLOUT),
            .revents = 0};
  }

  void look(bool is_ready) {
    if (is_ready && !is_connected_) return take_connection();
    if (is_ready) return hear();
    if (runtime::steady_now() >= until_) fail(is_connected_ ? silence() : no_answer());
  }

 private:
  void try_next() {
    while (next_ != nullptr && !connection_) {
      const auto* address = std::exchange(next_, next_->ai_next);
      auto begun = runtime::begin_to_connect(*address);
      if (!begun) {
        why_ = at() + begun.error().message();
        continue;
      }
      connection_ = std::move(*begun);
      is_connected_ = false;
      until_ = runtime::steady_now() + limits_.connect_ms * millisecond;
    }
  }

  void fail(const std::string& why) {
    why_ = at() + why;
    connection_.reset();
    try_next();
  }

  void take_connection() {
    if (const auto connected = runtime::connected_as(connection_.get()); !connected.ok())
      return fail(connected.message());
    policies::nonce drawn{};
    if (const auto done = runtime::draw_secret(drawn); !done.ok()) return fail(done.message());
    handshake_ = policies::caller_handshake(
        policies::port_token(token_, policies::agent_service, place_.port), drawn);
    is_connected_ = true;
    until_ = runtime::steady_now() + limits_.prove_ms * millisecond;
  }

  void hear() {
    const auto state = hear_listener(connection_.get(), handshake_);
    if (!state) return fail(state.error().message());
    if (*state == handshake_state::waiting) return;
    if (*state != handshake_state::proven)
      return fail("no agent of this run: " + std::string(policies::to_string(*state)));
    why_.clear();
    connection_.reset();
  }

  std::string at() const { return "at port " + std::to_string(place_.port) + ": "; }
  std::string no_answer() const {
    return "no answer within " + std::to_string(limits_.connect_ms) +
           " ms, as where a firewall drops what is sent";
  }
  std::string silence() const {
    return "it listens and says nothing for " + std::to_string(limits_.prove_ms) + " ms";
  }

  const policies::peer_place& place_;
  std::uint64_t token_;
  const reach_limits& limits_;
  runtime::socket_addresses addresses_;
  const addrinfo* next_ = nullptr;  // to try
  runtime::unique_fd connection_;   // while it is under way
  bool is_connected_ = false;
  policies::caller_handshake handshake_;
  std::int64_t until_ = 0;
  std::string why_;
};

}  // namespace

std::vector<policies::unreached_host> reach_peers(
    const std::vector<policies::peer_place>& peers, std::uint64_t token, int stop,
    const reach_limits& limits) {
  auto addresses = resolve_all(peers, stop);
  if (!addresses) return {};
  std::vector<attempt> all;
  all.reserve(peers.size());
  for (std::size_t i = 0; i < peers.size(); ++i)
    all.emplace_back(peers[i], std::move((*addresses)[i]), token, limits);
  for (;;) {
    std::vector<pollfd> waited{{.fd = stop, .events = POLLIN, .revents = 0}};
    std::vector<attempt*> open;
    auto until = runtime::steady_now() + limits.prove_ms * millisecond;
    for (auto& each : all) {
      if (each.is_over()) continue;
      waited.push_back(each.awaited());
      open.push_back(&each);
      until = std::min(until, each.until());
    }
    if (open.empty()) break;
    const auto left = std::max<std::int64_t>(until - runtime::steady_now(), 0);
    ::poll(waited.data(), waited.size(), static_cast<int>(left / millisecond + 1));
    if (waited.front().revents != 0) break;
    for (std::size_t i = 0; i < open.size(); ++i) open[i]->look(waited[i + 1].revents != 0);
  }
  std::vector<policies::unreached_host> unreached;
  for (const auto& each : all)
    if (each.is_over() && !each.why().empty())
      unreached.push_back({.host = each.host(), .why = each.why(), .address = each.address()});
  return unreached;
}

}  // namespace tidegate::actors
