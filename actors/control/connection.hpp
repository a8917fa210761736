// TCP connections of the control plane, up to the moment when both ends have proven the run's
// token (policies/protocol/handshake.hpp) and CAF may read. No CAF in sight. Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "policies/protocol/handshake.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"
#include "runtime/sockets/tls_channel.hpp"

namespace tidegate::actors {

struct control_options {
  std::uint64_t token = 0;  // of the run
  // To connect, and to prove the token, each.
  std::uint32_t connect_ms = 2'000;
  // What was sent and not acknowledged for so long ends the connection, as does an idle peer
  // whose host does not answer: it may have died without a word.
  std::uint32_t unreachable_ms = 10'000;
  // Once both ends are proven, all goes under TLS 1.3; both ends must say so.
  bool encrypt = false;
  // What listens there: both ends must say the same, and messages name it.
  const char* listener = "coordinator";
};

// Connects, and returns the connection once both ends are proven. Blocks for at most twice
// options.connect_ms for each address of the host. Errors: unavailable (nobody answers there,
// or not this run's), io_error (no descriptor).
runtime::expected<runtime::unique_fd> connect_proven(const std::string& host,
                                                     std::uint16_t port,
                                                     const control_options& options);

// The caller's part of a handshake over a connection that does not block: reads what has come,
// and answers the challenge. Returns what is known of the listener now. Errors: unavailable
// (the connection has ended).
runtime::expected<policies::handshake_state> hear_listener(
    int connection, policies::caller_handshake& handshake);

// Puts a connection whose ends are proven under TLS, if the options say so (tls_tunnels.hpp),
// and returns what is to be read and written in its place. Errors: io_error.
runtime::expected<runtime::unique_fd> under_tls(runtime::unique_fd connection,
                                                runtime::tls_side side, const std::string& peer,
                                                const control_options& options);

}  // namespace tidegate::actors
