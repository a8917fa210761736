#include "runtime/streams/stream_events.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <sys/timerfd.h>

#include "runtime/base/unix_time.hpp"

namespace tidegate::runtime {

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

epoll_event event_of(stream_kind kind, std::uint32_t index, std::uint32_t mask) {
  epoll_event event{};
  event.events = mask;
  event.data.u64 = static_cast<std::uint64_t>(kind) << 32U | index;
  return event;
}

std::uint32_t mask_of(bool writes) {
  return static_cast<std::uint32_t>(EPOLLIN) | EPOLLRDHUP |
         (writes ? static_cast<std::uint32_t>(EPOLLOUT) : 0U);
}

}  // namespace

status stream_events::open() {
  events_ = unique_fd(::epoll_create1(EPOLL_CLOEXEC));
  timer_ = unique_fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!events_ || !timer_ || !add(timer_.get(), stream_kind::timer, 0, false))
    return {errc::over_limit, std::string("watching sockets: ") + std::strerror(errno)};
  return {};
}

bool stream_events::add(int socket, stream_kind kind, std::uint32_t index, bool writes) {
  auto event = event_of(kind, index, mask_of(writes));
  return ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, socket, &event) == 0;
}

void stream_events::watch(int socket, stream_kind kind, std::uint32_t index, bool writes) {
  auto event = event_of(kind, index, mask_of(writes));
  (void)::epoll_ctl(events_.get(), EPOLL_CTL_MOD, socket, &event);
}

void stream_events::pause(int socket, stream_kind kind, std::uint32_t index) {
  auto event = event_of(kind, index, 0);
  (void)::epoll_ctl(events_.get(), EPOLL_CTL_MOD, socket, &event);
}

void stream_events::remove(int socket) noexcept {
  (void)::epoll_ctl(events_.get(), EPOLL_CTL_DEL, socket, nullptr);
}

void stream_events::set_timer(std::optional<std::int64_t> at) {
  if (at == timer_at_) return;
  timer_at_ = at;
  itimerspec when{};
  if (at) {
    const auto due = std::max<std::int64_t>(*at, 1);  // 0 would stop it
    when.it_value.tv_sec = due / second_ns;
    when.it_value.tv_nsec = due % second_ns;
  }
  (void)::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

unsigned stream_events::look() {
  const int count = ::epoll_wait(events_.get(), happened_.data(), events_most, 0);
  return count > 0 ? static_cast<unsigned>(count) : 0U;
}

stream_event stream_events::event(unsigned i) const {
  const auto& ready = happened_[i];
  const std::uint64_t name = ready.data.u64;
  return {.kind = static_cast<stream_kind>(name >> 32U),
          .index = static_cast<std::uint32_t>(name),
          .happened = ready.events};
}

}  // namespace tidegate::runtime
