// Somebody between two links over streams, through whom one connection goes.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/unique_fd.hpp"
#include "runtime/sockets/tcp_socket.hpp"
#include "runtime/streams/stream_address.hpp"

namespace tidegate::tests {

using runtime::stream_address;
using runtime::unique_fd;

inline unique_fd call(const stream_address& address) {
  const auto all = runtime::resolve(address.hosts.front(), address.port);
  auto connection = runtime::connect_to(**all, 5000);
  EXPECT_TRUE(connection) << connection.error().message();
  return connection ? std::move(*connection) : unique_fd();
}

// Takes all that two links say to each other on its way to `to`, and may change it.
class go_between {
 public:
  using change = std::function<void(std::vector<char>& bytes, std::size_t before)>;

  go_between(std::string to, change forth)
      : to_(runtime::parse_stream_address(to).value()), forth_(std::move(forth)) {
    listener_ = std::move(*runtime::listen_on("127.0.0.1", 0));
    thread_ = std::thread([this] { run(); });
  }
  ~go_between() {
    ends_ = true;
    thread_.join();
  }

  // At which the link behind it seems to be.
  std::string address() const {
    auto own = to_;
    own.port = runtime::port_of(listener_.get());
    return runtime::to_string(own);
  }
  std::string said() {
    const std::lock_guard lock(mutex_);
    return said_;
  }

 private:
  void run() {
    while (!ends_ && !runtime::is_ready(listener_.get(), POLLIN, 10)) {
    }
    const unique_fd caller(::accept(listener_.get(), nullptr, nullptr));
    if (!caller) return;
    const auto called = call(to_);
    while (!ends_ && pass(caller.get(), called.get(), true) &&
           pass(called.get(), caller.get(), false)) {
    }
  }
  bool pass(int from, int into, bool forth) {
    if (!runtime::is_ready(from, POLLIN, 1)) return true;
    std::vector<char> bytes(65'536);
    const auto got = ::recv(from, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got <= 0) return false;
    bytes.resize(static_cast<std::size_t>(got));
    if (forth) {
      const std::lock_guard lock(mutex_);
      const auto before = said_.size();
      said_.append(bytes.begin(), bytes.end());
      if (forth_) forth_(bytes, before);
    }
    for (std::size_t sent = 0; sent < bytes.size() && !ends_;) {
      if (!runtime::is_ready(into, POLLOUT, 10)) continue;
      const auto more =
          ::send(into, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (more <= 0) return false;
      sent += static_cast<std::size_t>(more);
    }
    return true;
  }

  stream_address to_;
  change forth_;
  unique_fd listener_;
  std::atomic<bool> ends_ = false;
  std::mutex mutex_;
  std::string said_;
  std::thread thread_;
};

}  // namespace tidegate::tests
