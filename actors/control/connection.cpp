#include "actors/control/connection.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <span>
#include <string_view>
#include <sys/socket.h>
#include <utility>

#include "policies/model/millisecond.hpp"
#include "policies/protocol/handshake.hpp"
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

namespace {

status prove(int connection, const control_options& options) {
  policies::nonce drawn{};
  if (auto done = runtime::draw_secret(drawn); !done.ok()) return done;
  policies::caller_handshake handshake(options.token, drawn);
  std::array<std::byte, policies::challenge_bytes> bytes{};
  const auto until = runtime::steady_now() + options.connect_ms * policies::millisecond;
  for (;;) {
    const auto left = std::max<std::int64_t>(until - runtime::steady_now(), 0);
    if (!runtime::is_ready(connection, POLLIN,
                           static_cast<std::uint32_t>(left / policies::millisecond)))
      return {errc::unavailable, "it listens and says nothing"};
    const auto wanted = std::min(handshake.wants(), bytes.size());
    const auto got = ::recv(connection, bytes.data(), wanted, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got < 0) return {errc::unavailable, std::strerror(errno)};
    if (got == 0)
      return {errc::unavailable,
              "it closed the connection: it ends, or is of another run (TIDEGATE_TOKEN)"};
    const auto state = handshake.take({bytes.data(), static_cast<std::size_t>(got)});
    if (state == handshake_state::proven) return {};
    if (state != handshake_state::waiting)
      return {errc::unavailable, std::string(policies::to_string(state))};
    const auto response = handshake.response();
    if (response.empty()) continue;
    // A connection's first bytes always fit what the system has set aside to send.
    if (::send(connection, response.data(), response.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(response.size()))
      return {errc::unavailable, std::strerror(errno)};
    handshake.responded();
  }
}

}  // namespace

expected<unique_fd> under_tls(unique_fd connection, runtime::tls_side side,
                              const std::string& peer, const control_options& options) {
  if (!options.encrypt) return connection;
  constexpr std::string_view label = "tidegate control plane";
  const auto key = runtime::hmac_sha256(std::as_bytes(std::span(&options.token, 1)),
                                        std::as_bytes(std::span(label)));
  auto channel = runtime::tls_channel::begin(std::move(connection), side, key);
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
    why = prove(connection->get(), options);
    if (why.ok())
      return under_tls(std::move(*connection), runtime::tls_side::client, where, options);
  }
  return fail(why.code(), std::string("no ") + options.listener + " of this run answers at " +
                              where + ": " + why.message());
}

}  // namespace tidegate::actors
