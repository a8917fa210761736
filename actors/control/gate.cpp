#include "actors/control/gate.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <string>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <utility>

#include "policies/model/millisecond.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/service_thread.hpp"
#include "runtime/base/unix_time.hpp"
#include "runtime/sockets/tcp_socket.hpp"

namespace tidegate::actors {

using policies::connection_gate;
using policies::handshake_state;
using runtime::errc;
using runtime::expected;
using runtime::fail;
using runtime::status;
using runtime::unique_fd;

namespace {

// Beside the slots of strangers, in epoll_event::data.
constexpr std::uint64_t at_listener = 1ULL << 32U;
constexpr std::uint64_t at_wake = at_listener + 1;
constexpr int accepted_per_turn = 64;
constexpr int events_per_turn = 64;

bool watch(const unique_fd& events, int fd, std::uint64_t data, std::uint32_t mask,
           int operation = EPOLL_CTL_ADD) {
  epoll_event event{};
  event.events = mask;
  event.data.u64 = data;
  return ::epoll_ctl(events.get(), operation, fd, &event) == 0;
}

template <class Bytes>
bool send_whole(int connection, const Bytes& bytes) {
  return ::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(bytes.size());
}

}  // namespace

expected<std::unique_ptr<control_gate>> control_gate::open(
    unique_fd listener, const control_options& options, const policies::gate_limits& limits) {
  std::unique_ptr<control_gate> gate(new control_gate(std::move(listener), options, limits));
  if (auto prepared = gate->prepare(); !prepared.ok()) return fail(std::move(prepared));
  gate->thread_ = runtime::start_service_thread([self = gate.get()] { self->run(); });
  return gate;
}

control_gate::control_gate(unique_fd listener, const control_options& options,
                           const policies::gate_limits& limits)
    : options_(options),
      core_(policies::port_token(options.token, options.listener,
                                 runtime::port_of(listener.get())),
            limits),
      listener_(std::move(listener)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      events_(::epoll_create1(EPOLL_CLOEXEC)),
      strangers_(limits.strangers_max) {
  late_.reserve(limits.strangers_max);
}

status control_gate::prepare() {
  std::array<int, 2> ends{-1, -1};
  const bool paired =
      ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0;
  proven_ = unique_fd(ends[0]);
  handed_ = unique_fd(ends[1]);
  if (!paired || !wake_ || !events_ || !watch(events_, wake_.get(), at_wake, EPOLLIN) ||
      !watch(events_, listener_.get(), at_listener, 0))
    return {errc::io_error,
            std::string("the door of the control port: ") + std::strerror(errno)};
  return {};
}

control_gate::~control_gate() {
  if (thread_.joinable()) {
    ::eventfd_write(wake_.get(), 1);
    thread_.join();
  }
  while (proven_ && take(proven_.get())) {
  }
}

unique_fd control_gate::take(int proven) noexcept {
  int connection = -1;
  const auto got = ::recv(proven, &connection, sizeof connection, MSG_DONTWAIT);
  return unique_fd(got == sizeof connection ? connection : -1);
}

void control_gate::run() {
  for (;;) {
    accept_some();
    expire();
    report(runtime::steady_now());
    std::array<epoll_event, events_per_turn> happened{};
    const int count = ::epoll_wait(events_.get(), happened.data(), events_per_turn, wait_ms());
    for (int i = 0; i < count; ++i) {
      const auto where = happened[static_cast<std::size_t>(i)].data.u64;
      if (where == at_wake) return report(std::numeric_limits<std::int64_t>::max() / 2);
      if (where != at_listener) hear(static_cast<connection_gate::slot>(where));
    }
  }
}

// As long as it may take somebody in; until then strangers wait with the system.
void control_gate::accept_some() {
  for (int i = 0; i < accepted_per_turn; ++i) {
    const auto now = runtime::steady_now();
    if (!core_.may_accept(now)) return watch_listener(false);
    unique_fd accepted(
        ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (accepted) {
      greet(std::move(accepted));
      continue;
    }
    if (runtime::has_no_room(errno)) core_.accept_failed(now);
    if (errno == EAGAIN) return watch_listener(true);
  }
  watch_listener(true);
}

void control_gate::greet(unique_fd accepted) {
  policies::nonce drawn{};
  if (!runtime::draw_secret(drawn).ok()) return;
  if (const auto leaves = core_.make_room()) close(*leaves);
  const auto slot = core_.accepted(runtime::steady_now(), drawn);
  const bool ready = watch(events_, accepted.get(), slot, EPOLLIN) &&
                     send_whole(accepted.get(), core_.handshake(slot).challenge());
  if (ready)
    strangers_[slot] = std::move(accepted);
  else
    core_.departed(slot);
}

void control_gate::hear(connection_gate::slot from) {
  auto& connection = strangers_[from];
  std::array<std::byte, policies::response_bytes> bytes{};
  const auto wanted = core_.handshake(from).wants();
  const auto got = ::recv(connection.get(), bytes.data(), wanted, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    core_.departed(from);
    return close(from);
  }
  runtime::digest confirmation{};
  const auto state =
      core_.received(from, {bytes.data(), static_cast<std::size_t>(got)}, confirmation);
  if (state == handshake_state::waiting) return;
  unwatch(connection);
  auto heard = std::move(connection);
  if (state == handshake_state::proven) hand_on(std::move(heard), confirmation);
}

void control_gate::close(connection_gate::slot leaves) {
  unwatch(strangers_[leaves]);
  strangers_[leaves].reset();
}

// Closing is not enough: a child of this process that has not run its program yet has the same
// connection, which would be heard at a place that is free, or another's.
void control_gate::unwatch(const unique_fd& connection) {
  ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, connection.get(), nullptr);
}

void control_gate::hand_on(unique_fd connection, const runtime::digest& confirmation) {
  runtime::set_options(connection.get(), options_.unreachable_ms);
  if (!send_whole(connection.get(), confirmation)) return;
  auto proven = under_tls(std::move(connection), runtime::tls_side::server,
                          "a process of this run", options_);
  if (!proven) return runtime::log::warn(proven.error().message());
  const int number = proven->get();
  if (::send(handed_.get(), &number, sizeof number, MSG_NOSIGNAL) == sizeof number)
    proven->release();
  else
    runtime::log::warn("a proven connection is closed: too many wait to be taken");
}

void control_gate::watch_listener(bool watched) {
  if (std::exchange(listener_watched_, watched) == watched) return;
  const auto mask = static_cast<std::uint32_t>(watched ? EPOLLIN : EPOLL_EVENTS{});
  watch(events_, listener_.get(), at_listener, mask, EPOLL_CTL_MOD);
}

void control_gate::expire() {
  late_.clear();
  core_.expire(runtime::steady_now(), late_);
  for (const auto slot : late_) close(slot);
}

void control_gate::report(std::int64_t now) {
  const auto refused = core_.report(now);
  if (!refused) return;
  const auto& counted = core_.counters();
  runtime::log::warn(
      "control port: " + std::to_string(*refused) + " connections of strangers refused: " +
      std::to_string(counted.refused_proof) + " with a wrong proof of the run's token, " +
      std::to_string(counted.refused_version) + " that said something else, " +
      std::to_string(counted.refused_late) + " that said too little in time, " +
      std::to_string(counted.departed) + " that left before");
}

// Rounded up, so that what is due then is due.
int control_gate::wait_ms() const {
  const auto deadline = core_.next_deadline();
  if (!deadline) return -1;
  const auto left = std::max<std::int64_t>(*deadline - runtime::steady_now(), 0);
  return static_cast<int>(std::min<std::int64_t>(left / policies::millisecond + 1,
                                                 std::numeric_limits<int>::max()));
}

}  // namespace tidegate::actors
