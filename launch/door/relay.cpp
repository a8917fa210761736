#include "launch/door/relay.hpp"

#include <array>
#include <csignal>
#include <iostream>
#include <optional>
#include <poll.h>
#include <unistd.h>
#include <vector>

#include "launch/door/door_key.hpp"
#include "launch/door/door_messages.hpp"
#include "launch/door/sockets.hpp"
#include "policies/model/millisecond.hpp"
#include "runtime/base/unix_time.hpp"
#include "runtime/sockets/tls_channel.hpp"

namespace tidegate::launch {

namespace {

using policies::millisecond;

constexpr std::uint32_t connect_ms = 2'000;
constexpr int pause_ms = 250;  // between attempts
constexpr int prove_ms = 5'000;
constexpr std::size_t unsent_bytes_max = std::size_t{1} << 20U;
constexpr int lost = 1;
constexpr int refused = 2;

int complain(int code, const std::string& why) {
  std::cerr << "tidegate relay: " << why << std::endl;
  return code;
}

// A pod has no address, or nobody listens there, until it has been started.
runtime::expected<runtime::unique_fd> connect_in_time(const endpoint& place,
                                                      std::uint32_t wait_ms) {
  const auto until = runtime::steady_now() + std::int64_t{wait_ms} * millisecond;
  while (true) {
    auto connection = connect_to(place, connect_ms);
    if (connection || runtime::steady_now() >= until) return connection;
    ::poll(nullptr, 0, pause_ms);
  }
}

class relay_loop {
 public:
  explicit relay_loop(runtime::tls_channel channel) : channel_(std::move(channel)) {}

  runtime::status prove() {
    const auto until = runtime::steady_now() + prove_ms * millisecond;
    while (true) {
      if (auto went = channel_.advance(); !went.ok() || channel_.is_proven()) return went;
      const auto left = (until - runtime::steady_now()) / millisecond;
      if (left <= 0) return {runtime::errc::unavailable, "it has not proven the key in time"};
      pollfd waited{.fd = channel_.fd(), .events = channel_.awaits(), .revents = 0};
      ::poll(&waited, 1, static_cast<int>(left));
    }
  }

  // Returns what to exit with.
  int run() {
    while (true) {
      const auto went = channel_.advance();
      if (const auto corrupt = take_messages(); !corrupt.ok())
        return complain(lost, corrupt.message());
      if (code_) return *code_;
      if (!went.ok()) return complain(lost, "the door has closed: " + went.message());
      std::array<pollfd, 2> waited{
          pollfd{.fd = channel_.fd(), .events = channel_.awaits(), .revents = 0},
          pollfd{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0}};
      const bool reads = !has_input_ended_ && channel_.unsent_bytes() < unsent_bytes_max;
      ::poll(waited.data(), reads ? 2 : 1, -1);
      if (reads && waited[1].revents != 0) pass_input();
    }
  }

 private:
  void pass_input() {
    std::array<char, 16384> bytes{};
    const auto got = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    has_input_ended_ = got <= 0;
    channel_.send(has_input_ended_ ? door_text(door_word::input_end)
                                   : door_text(door_word::input,
                                               {bytes.data(), static_cast<std::size_t>(got)}));
  }

  runtime::status take_messages() {
    std::vector<door_message> messages;
    auto taken = take_door_messages(channel_.received(), messages);
    for (const auto& message : messages) {
      if (message.word == door_word::output) std::cout << message.bytes << std::flush;
      if (message.word == door_word::ended && !message.bytes.empty())
        code_ = static_cast<unsigned char>(message.bytes.front());
    }
    return taken;
  }

  runtime::tls_channel channel_;
  bool has_input_ended_ = false;
  std::optional<int> code_;
};

}  // namespace

int run_relay(const relay_options& options) {
  std::signal(SIGPIPE, SIG_IGN);
  const auto key = read_door_key(options.key_file);
  if (!key) return complain(refused, key.error().message());
  const auto place = parse_place(options.door);
  if (!place) return complain(refused, place.error().message());
  auto connection = connect_in_time(*place, options.wait_ms);
  if (!connection)
    return complain(refused, "no door is open there: " + connection.error().message());
  auto channel =
      runtime::tls_channel::begin(std::move(*connection), runtime::tls_side::client, *key);
  if (!channel) return complain(refused, channel.error().message());
  relay_loop loop(std::move(*channel));
  if (const auto proven = loop.prove(); !proven.ok())
    return complain(
        refused, to_string(*place) + ": " + proven.message() + "; has its door the same key?");
  return loop.run();
}

}  // namespace tidegate::launch
