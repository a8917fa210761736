#include "actors/control/connection.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <utility>

#include "policies/model/millisecond.hpp"
#include "runtime/base/unix_time.hpp"
#include "runtime/sockets/tcp_socket.hpp"
#include "runtime/sockets/tls_tunnels.hpp"

namespace tidegate::actors {

using policies::handshake_state;
using runtime::errc;
using runtime::expected;
using runtime::fail;
using runtime::status;
using runtime::unique_fd;

expected<handshake_state> hear_listener(int connection, policies::caller_handshake& handshake) {
  std::array<std::byte, policies::challenge_bytes> bytes{};
  const auto wanted = std::min(handshake.wants(), bytes.size());
  const auto got = ::recv(connection, bytes.data(), wanted, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return handshake_state::waiting;
  if (got < 0) return fail(errc::unavailable, std::strerror(errno));
  if (got == 0)
    return fail(errc::unavailable,
                "it closed the connection: it ends, or is of another run (TIDEGATE_TOKEN)");
  const auto state = handshake.take({bytes.data(), static_cast<std::size_t>(got)});
  const auto response = handshake.response();
  if (state != handshake_state::waiting || response.empty()) return state;
  // A connection's first bytes always fit what the system has set aside to send.
  if (::send(connection, response.data(), response.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(response.size()))
    return fail(errc::unavailable, std::strerror(errno));
  handshake.responded();
  return state;
}

namespace {

status prove(int connection, std::uint16_t port, const control_options& options) {
  policies::nonce drawn{};
  if (auto done = runtime::draw_secret(drawn); !done.ok()) return done;
  policies::caller_handshake handshake(
      policies::port_token(options.token, options.listener, port), drawn);
  const auto until = runtime::steady_now() + options.connect_ms * policies::millisecond;
  for (;;) {
    const auto left = std::max<std::int64_t>(until - runtime::steady_now(), 0);
    if (!runtime::is_ready(connection, POLLIN,
                           static_cast<std::uint32_t>(left / policies::millisecond)))
      return {errc::unavailable, "it listens and says nothing"};
    const auto state = hear_listener(connection, handshake);
    if (!state) return state.error();
    if (*state == handshake_state::proven) return {};
    if (*state != handshake_state::waiting)
      return {errc::unavailable, std::string(policies::to_string(*state))};
  }
}

}  // namespace

expected<unique_fd> under_tls(unique_fd connection, runtime::tls_side side,
                              const std::string& peer, const control_options& options) {
  if (!options.encrypt) return connection;
  auto channel = runtime::tls_channel::begin(std::move(connection), side,
                                             policies::control_plane_key(options.token));
  if (!channel) return fail(channel.error());
  return runtime::tls_tunnels::of_process().add(std::move(*channel), peer);
}

expected<unique_fd> connect_proven(const std::string& host, std::uint16_t port,
                                   const control_options& options) {
  const auto where = host + ":" + std::to_string(port);
  const auto all = runtime::resolve(host, port);
  if (!all) return fail(all.error());
  status why(errc::unavailable, "it has no address");
  for (const auto* address = all->get(); address != nullptr; address = address->ai_next) {
    auto connection = runtime::connect_to(*address, options.connect_ms);
    if (!connection) {
      why = connection.error();
      continue;
    }
    runtime::set_options(connection->get(), options.unreachable_ms);
    why = prove(connection->get(), port, options);
    if (why.ok())
      return under_tls(std::move(*connection), runtime::tls_side::client, where, options);
  }
  return fail(why.code(), std::string("no ") + options.listener + " of this run answers at " +
                              where + ": " + why.message());
}

}  // namespace tidegate::actors
