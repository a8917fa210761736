#include "runtime/sockets/tls_tunnels.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "runtime/base/log.hpp"
#include "runtime/base/service_thread.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::runtime {

namespace {

constexpr std::size_t unsent_bytes_most = std::size_t{1} << 20U;
constexpr std::uint64_t at_wake = ~std::uint64_t{0};

std::uint32_t mask_of(bool reads, bool writes) {
  return (reads ? static_cast<std::uint32_t>(EPOLLIN) : 0U) |
         (writes ? static_cast<std::uint32_t>(EPOLLOUT) : 0U);
}

}  // namespace

struct tls_tunnels::tunnel {
  tls_channel channel;
  unique_fd inner;
  std::string peer;
  std::size_t index = 0;
  std::uint32_t channel_mask = 0, inner_mask = 0;  // as the events know them
  bool is_drained = false;                         // all that the user has written was read
  bool user_ended = false;
  bool peer_ended = false;
};

tls_tunnels& tls_tunnels::of_process() {
  static tls_tunnels all;
  return all;
}

tls_tunnels::tls_tunnels() = default;

tls_tunnels::~tls_tunnels() {
  if (!thread_.joinable()) return;
  // In a process that was forked there is no such thread.
  if (::getpid() != process_) {
    thread_.detach();
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  ::eventfd_write(wake_.get(), 1);
  thread_.join();
}

status tls_tunnels::start() {
  if (thread_.joinable()) return {};
  wake_ = unique_fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  events_ = unique_fd(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = at_wake;
  if (!wake_ || !events_ || ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, wake_.get(), &event) != 0)
    return {errc::io_error, std::string("TLS: a descriptor: ") + std::strerror(errno)};
  process_ = ::getpid();
  thread_ = start_service_thread([this] { run(); });
  return {};
}

expected<unique_fd> tls_tunnels::add(tls_channel channel, const std::string& peer) {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0)
    return fail(errc::io_error, std::string("TLS: a pair of sockets: ") + std::strerror(errno));
  unique_fd user(ends[0]);
  unique_fd inner(ends[1]);
  const std::lock_guard lock(mutex_);
  if (auto started = start(); !started.ok()) return fail(std::move(started));
  added_.push_back(std::make_unique<tunnel>(
      tunnel{.channel = std::move(channel), .inner = std::move(inner), .peer = peer}));
  ::eventfd_write(wake_.get(), 1);
  return user;
}

void tls_tunnels::take_added() {
  eventfd_t count = 0;
  ::eventfd_read(wake_.get(), &count);
  for (;;) {
    std::unique_ptr<tunnel> next;
    {
      const std::lock_guard lock(mutex_);
      if (added_.empty()) return;
      next = std::move(added_.front());
      added_.pop_front();
    }
    auto free = std::find(tunnels_.begin(), tunnels_.end(), nullptr);
    if (free == tunnels_.end()) free = tunnels_.emplace(tunnels_.end());
    next->index = static_cast<std::size_t>(free - tunnels_.begin());
    *free = std::move(next);
    if (step(**free))
      watch(**free);
    else
      free->reset();
  }
}

// Moves what can be moved. Returns false when both sides have ended.
bool tls_tunnels::step(tunnel& moving) {
  do {
    if (!moving.user_ended && moving.channel.unsent_bytes() < unsent_bytes_most) {
      std::array<char, 65'536> bytes{};
      const auto got = ::recv(moving.inner.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      moving.is_drained = got == 0 || (got < 0 && errno != EINTR);
      if (got > 0) moving.channel.send({bytes.data(), static_cast<std::size_t>(got)});
      moving.user_ended = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
    } else {
      moving.is_drained = moving.user_ended;
    }
    if (!moving.peer_ended) {
      const auto advanced = moving.channel.advance();
      moving.peer_ended = !advanced.ok();
      if (advanced.code() == errc::refused)
        log::warn("the connection to " + moving.peer + " under TLS: " + advanced.message());
    }
    auto& received = moving.channel.received();
    if (!received.empty()) {
      const auto sent = ::send(moving.inner.get(), received.data(), received.size(),
                               MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0) received.erase(0, static_cast<std::size_t>(sent));
      if (sent < 0 && errno != EAGAIN && errno != EINTR) moving.user_ended = true;
    }
  } while (!moving.peer_ended && moving.channel.has_more() &&
           moving.channel.received().empty());
  if (moving.user_ended) return !moving.peer_ended && moving.channel.unsent_bytes() > 0;
  return !moving.peer_ended || !moving.channel.received().empty();
}

void tls_tunnels::watch(tunnel& moving) {
  const auto follow = [&](int fd, std::uint32_t& known, std::uint32_t wanted,
                          std::uint64_t side) {
    if (known == wanted) return;
    epoll_event event{};
    event.events = wanted;
    event.data.u64 = 2 * moving.index + side;
    // Of a socket that nothing is wanted from, epoll would still tell the end, again and again.
    const auto change = known == 0    ? EPOLL_CTL_ADD
                        : wanted == 0 ? EPOLL_CTL_DEL
                                      : EPOLL_CTL_MOD;
    (void)::epoll_ctl(events_.get(), change, fd, &event);
    known = wanted;
  };
  const auto awaited = moving.peer_ended ? short{0} : moving.channel.awaits();
  follow(moving.channel.fd(), moving.channel_mask,
         mask_of((awaited & POLLIN) != 0, (awaited & POLLOUT) != 0), 0);
  const bool reads = !moving.user_ended && moving.channel.unsent_bytes() < unsent_bytes_most;
  follow(moving.inner.get(), moving.inner_mask,
         mask_of(reads, !moving.channel.received().empty()), 1);
}

// Closing is not enough: a child of this process may have the same sockets.
void tls_tunnels::end(std::unique_ptr<tunnel>& over) {
  for (const auto fd : {over->channel.fd(), over->inner.get()})
    (void)::epoll_ctl(events_.get(), EPOLL_CTL_DEL, fd, nullptr);
  over.reset();
}

// All that users have written is sent.
bool tls_tunnels::is_done() const {
  return std::all_of(tunnels_.begin(), tunnels_.end(), [](const auto& moving) {
    return moving == nullptr || moving->peer_ended ||
           (moving->is_drained && moving->channel.unsent_bytes() == 0);
  });
}

void tls_tunnels::run() {
  constexpr std::int64_t ms_ns = 1'000'000;
  std::int64_t until = 0;
  for (;;) {
    std::array<epoll_event, 64> happened{};
    const int count =
        ::epoll_wait(events_.get(), happened.data(), happened.size(), until > 0 ? 10 : -1);
    for (int i = 0; i < count; ++i) {
      const auto name = happened[static_cast<std::size_t>(i)].data.u64;
      if (name == at_wake) {
        take_added();
        continue;
      }
      auto& moving = tunnels_[name / 2];
      if (moving == nullptr) continue;
      if (step(*moving))
        watch(*moving);
      else
        end(moving);
    }
    {
      const std::lock_guard lock(mutex_);
      if (ends_ && until == 0) until = steady_now() + farewell_ms * ms_ns;
    }
    if (until == 0) continue;
    for (auto& moving : tunnels_)
      if (moving != nullptr && !step(*moving)) end(moving);
    if (is_done() || steady_now() > until) return;
  }
}

}  // namespace tidegate::runtime
