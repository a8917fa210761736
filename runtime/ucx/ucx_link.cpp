#include "runtime/ucx/ucx_link.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <sys/epoll.h>
#include <utility>

#include "runtime/ucx/ucx_context.hpp"
#include "runtime/ucx/ucx_link_impl.hpp"

namespace tidegate::runtime {

ucx_link::~ucx_link() {
  if (!worker_.is_open()) return;
  close(0);
  // UCX would abort. The process is about to end; the memory may stay until then.
  if (stuck_)
    static_cast<void>(new std::shared_ptr<ucx_memory>(memory_));
  else
    worker_.destroy();
}

status ucx_link::open(const ucx_options& options) {
  const auto context = make_ucx_context(options);
  if (!context) return context.error();
  if (options.silent_ms > 0) guard_ = stream_guard::of_process(options.silent_ms);
  memory_ = std::make_shared<ucx_memory>(*context);
  if (auto opened = worker_.open(*context, options.silent_ms); !opened.ok()) return opened;
  if (auto opened = receiver_.open(); !opened.ok()) return opened;
  if (auto opened = hearing_.open(); !opened.ok()) return opened;
  return open_events();
}

status ucx_link::open_events() {
  const auto of_ucx = worker_.event_fd();
  if (!of_ucx) return of_ucx.error();
  events_ = unique_fd(::epoll_create1(EPOLL_CLOEXEC));
  for (const int fd : {*of_ucx, hearing_.event_fd()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
      return {errc::over_limit,
              std::string("watching UCX's event descriptor: ") + std::strerror(errno)};
  }
  return {};
}

expected<peer_id> ucx_link::connect(std::string_view address, reach) {
  auto peer = connections_.connect(address);
  hearing_.follow_connections();
  if (peer) hearing_.tell_given_up(*peer, connections_.given_up_before(*peer));
  return peer;
}

void ucx_link::disconnect(peer_id peer) {
  connections_.disconnect(peer);
  if (const auto other = connections_.other_than(peer))
    hearing_.tell_given_up(*other, {&peer, 1});
}

unsigned ucx_link::progress() {
  unsigned happened = worker_.progress();
  happened += hearing_.turn();
  happened +=
      hearing_.hear_given_up([this](const frame_origin& origin) { receiver_.give_up(origin); });
  happened += connections_.end_departing();
  happened += sender_.tell_sent();
  happened += receiver_.tell_lost();
  return happened + connections_.tell_lost();
}

bool ucx_link::arm() {
  if (sender_.has_sent() || receiver_.has_lost() || connections_.has_work()) return false;
  const bool sleeps = worker_.arm();
  hearing_.note_sleep(sleeps);
  return sleeps;
}

void ucx_link::close(std::uint32_t flush_ms_max) {
  using clock = std::chrono::steady_clock;
  const auto deadline = clock::now() + std::chrono::milliseconds(flush_ms_max);
  while (sends_under_way() > 0 && clock::now() < deadline) worker_.progress();
  const bool closed = connections_.close(flush_ms_max);
  stuck_ = stuck_ || !closed;
  // UCX ends the requests of a broken endpoint in a later turn.
  const auto last = clock::now() + end_patience;
  while (sends_under_way() + receiver_.under_way() > 0 && clock::now() < last)
    worker_.progress();
  // The former sink may go; UCX may still call back until the worker is gone.
  delivery_.set_sink(nullptr);
  connections_.clear();
  receiver_.clear();
  hearing_.clear();
  sender_.clear();
}

expected<std::unique_ptr<link>> open_ucx_link(const ucx_options& options) {
  auto opening = std::make_unique<ucx_link>();
  if (auto opened = opening->open(options); !opened.ok()) return fail(std::move(opened));
  return std::unique_ptr<link>(std::move(opening));
}

}  // namespace tidegate::runtime
