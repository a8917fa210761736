// Somebody who listens as agents do in a survey, on this machine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <utility>
#include <vector>

#include "launch/agents/agent_door.hpp"
#include "policies/protocol/handshake.hpp"
#include "runtime/base/secret.hpp"
#include "runtime/sockets/tcp_socket.hpp"

namespace tidegate::tests {

// Proves the token to each who comes, one after the other, until it is destroyed.
class listening_agent final : public launch::agent_door {
 public:
  listening_agent(runtime::unique_fd listener, std::uint64_t token)
      : listener_(std::move(listener)), port_(runtime::port_of(listener_.get())) {
    thread_ = std::thread([this, token] { serve(token); });
  }
  ~listening_agent() override {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  static std::unique_ptr<listening_agent> at(const std::string& address, std::uint64_t token) {
    auto listener = runtime::listen_on(address, 0);
    if (!listener) return nullptr;
    return std::make_unique<listening_agent>(std::move(*listener), token);
  }

  std::uint16_t port() const override { return port_; }
  int fd() const override { return -1; }
  runtime::unique_fd take() override { return {}; }

 private:
  void serve(std::uint64_t token) const {
    while (runtime::is_ready(listener_.get(), POLLIN, 60'000)) {
      const runtime::unique_fd caller(
          ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!caller) return;
      greet(caller.get(), token, port_);
    }
  }

  static void greet(int caller, std::uint64_t token, std::uint16_t own_port) {
    policies::nonce drawn{};
    (void)runtime::draw_secret(drawn);
    policies::listener_handshake handshake(
        policies::port_token(token, policies::agent_service, own_port), drawn);
    const auto challenge = handshake.challenge();
    ::send(caller, challenge.data(), challenge.size(), MSG_NOSIGNAL);
    std::array<std::byte, policies::response_bytes> bytes{};
    for (;;) {
      const auto got = ::recv(caller, bytes.data(), handshake.wants(), 0);
      if (got <= 0) return;
      const auto state = handshake.take({bytes.data(), static_cast<std::size_t>(got)});
      if (state == policies::handshake_state::waiting) continue;
      if (state != policies::handshake_state::proven) return;
      const auto confirmation = handshake.confirmation();
      ::send(caller, confirmation.data(), confirmation.size(), MSG_NOSIGNAL);
      return;
    }
  }

  runtime::unique_fd listener_;
  std::uint16_t port_;
  std::thread thread_;
};

}  // namespace tidegate::tests
