// A connection under TLS 1.3 whose ends have proven to each other that they share a key: an
// external pre-shared key with an ephemeral exchange (RFC 8446, sections 2.2 and 4.2.9), so no
// certificates, and past connections stay secret if the key is lost. Does not block. One
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/secret.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::runtime {

enum class tls_side : std::uint8_t { client, server };

class tls_channel {
 public:
  // Bytes that are kept of what has arrived; more waits in the connection.
  static constexpr std::size_t received_bytes_max = std::size_t{1} << 20U;

  // `connection` does not block. Errors: io_error (no memory).
  static expected<tls_channel> begin(unique_fd connection, tls_side side, const digest& key);
  tls_channel(tls_channel&&) noexcept;
  tls_channel& operator=(tls_channel&&) noexcept;
  ~tls_channel();

  int fd() const noexcept;
  // Returns the events of poll(2) to wait for before advance().
  short awaits() const noexcept;
  // Returns true if advance() has something to receive that poll(2) does not see: the rest of a
  // record that is whole.
  bool has_more() const noexcept;
  // Goes on with the handshake, sends, and receives. Errors: refused (the peer has another key,
  // or speaks something else), unavailable (the connection has ended, or broken; what has
  // arrived before is in received()).
  status advance();
  // Returns true once the peer has proven the key.
  bool is_proven() const noexcept;

  // Sends as soon as there is room, and the peer has proven the key.
  void send(std::string_view bytes);
  std::size_t unsent_bytes() const noexcept;
  // What has arrived and was not erased.
  std::string& received() noexcept;

 private:
  struct state;
  explicit tls_channel(std::unique_ptr<state> content);

  status shake_hands();
  status flush();
  status receive();

  std::unique_ptr<state> state_;
};

}  // namespace tidegate::runtime
