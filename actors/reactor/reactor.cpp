#include "actors/reactor/reactor.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <caf/resumable.hpp>

#include "actors/reactor/peer_address.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::actors {

namespace {

constexpr std::size_t messages_per_turn =
    64;  // of one actor, before the link is progressed again
// Waiting goes in two steps.
// 1. Yield: the answer is often a few microseconds away, and waking a sleeper takes longer. A
// yield that took long says that the core has other takers: this step is left out for a while
// then (core_contention.hpp).
// Our thread may have nothing to do for hours; an inline driver has sent something and waits
// for it.
constexpr auto spin = std::chrono::microseconds(100);
constexpr auto inline_driver_spin = std::chrono::microseconds(1000);
// 2. Arm and block.

// A inline driver that left is often back soon; our thread does not take the drive before this
// is over.
constexpr auto inline_driver_grace = std::chrono::microseconds(300);

}  // namespace

reactor::reactor(caf::actor_system& system) : caf::execution_unit(&system) {
  wake_fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  epoll_fd_ = epoll_create1(EPOLL_CLOEXEC);
  TIDEGATE_ASSERT(wake_fd_ >= 0 && epoll_fd_ >= 0, "descriptors for a reactor");
}

runtime::expected<std::unique_ptr<reactor>> reactor::start(caf::actor_system& system,
                                                           const link_factory& make_link,
                                                           std::uint64_t host) {
  std::unique_ptr<reactor> created(new reactor(system));
  std::promise<runtime::status> opened;
  auto result = opened.get_future();
  created->thread_ = std::thread([&opened, &make_link, host, self = created.get()] {
    self->owner_ = std::this_thread::get_id();
    self->driven_ = true;  // nobody else knows the reactor yet
    auto link = make_link();
    if (!link) {
      opened.set_value(link.error());
      return;
    }
    self->link_ = std::move(*link);
    self->address_ = peer_address(host, self->link_->address());
    opened.set_value({});
    self->loop();
  });
  if (auto outcome = result.get(); !outcome.ok()) return runtime::fail(std::move(outcome));
  return created;
}

reactor::~reactor() {
  stop();
  if (thread_.joinable()) thread_.join();
  while (senders_.load(std::memory_order_acquire) > 0) sched_yield();
  ::close(epoll_fd_);
  ::close(wake_fd_);
}

void reactor::exec_later(caf::resumable* job) {
  if (std::this_thread::get_id() == owner_.load(std::memory_order_relaxed)) {
    ready_.push_back(job);
    return;
  }
  {
    std::lock_guard lock(mutex_);
    senders_.fetch_add(1, std::memory_order_relaxed);
    remote_.push_back(job);
    remote_waits_.store(true, std::memory_order_release);
  }
  wake();
  senders_.fetch_sub(1, std::memory_order_release);
}

// Whoever drives, or our thread if nobody does.
void reactor::wake() {
  const std::uint64_t number = 1;
  // Fails only when the counter is full, and then the descriptor is readable already.
  const auto written = ::write(wake_fd_, &number, sizeof number);
  static_cast<void>(written);
  bool parked = false;
  {
    std::lock_guard lock(gate_);
    parked = parked_;
  }
  if (parked) gate_changed_.notify_all();
}

void reactor::stop() {
  stopping_.store(true);
  wake();
}

void reactor::run_in_background(bool on) {
  if (background_.exchange(on) != on && on) wake();
}

void reactor::take_remote() {
  if (!remote_waits_.load(std::memory_order_acquire)) return;
  {
    std::lock_guard lock(mutex_);
    std::swap(remote_, taken_);
    remote_waits_.store(false, std::memory_order_relaxed);
  }
  for (auto* job : taken_) ready_.push_back(job);
  taken_.clear();
}

bool reactor::run_ready() {
  take_remote();
  const bool any = !ready_.empty();
  // Only those ready now: what they make ready waits for the link's turn.
  for (auto turns = ready_.size(); turns > 0; --turns) {
    auto* job = ready_.front();
    ready_.pop_front();
    switch (job->resume(this, messages_per_turn)) {
      case caf::resumable::resume_later:
        ready_.push_back(job);
        break;
      case caf::resumable::done:
      case caf::resumable::awaiting_message:
      case caf::resumable::shutdown_execution_unit:
        caf::intrusive_ptr_release(job);
        break;
    }
  }
  end_turn();
  return any;
}

void reactor::end_turn() {
  for (std::size_t i = 0; i < ending_.size(); ++i) ending_[i]->go_on();
  ending_.clear();
}

bool reactor::turn() {
  const bool ran = run_ready();
  const unsigned moved = link_open_ ? link_->progress() : 0;
  const bool went_on = run_put_off();
  return ran || moved > 0 || went_on;
}

bool reactor::run_put_off() {
  if (put_off_.empty()) return false;
  std::swap(put_off_, going_on_);
  for (auto* postponed : going_on_) postponed->go_on();  // may put off again
  going_on_.clear();
  end_turn();
  return true;
}

void reactor::wait(bool after_work, bool patient, bool briefly) {
  if (after_work) futile_.worked();
  if (!yield(after_work)) sleep(patient, briefly);
}

void reactor::loop() {
  watch(wake_fd_);
  bool worked = true;
  while (true) {
    const bool busy = turn();
    if (!busy && stopping_.load()) break;
    if (inline_drivers_.load() > 0 || (!busy && !background_.load())) {
      give_drive();
      take_drive();
      worked = true;
    } else {
      if (!busy) wait(worked);
      worked = busy;
    }
  }
  close_link();
  // What the link's last frames woke is dropped unrun.
  take_remote();
  for (auto* job : ready_) caf::intrusive_ptr_release(job);
  ready_.clear();
  link_.reset();
}

void reactor::give_drive() {
  std::lock_guard lock(gate_);
  driven_ = false;
  gate_changed_.notify_all();
}

void reactor::take_drive() {
  using clock = std::chrono::steady_clock;
  const auto is_out = [&] { return driven_ || inline_drivers_.load() > 0; };
  const auto due = [&] {
    if (is_out()) return false;
    if (work_waits()) return true;
    return background_.load() && clock::now() - left_ > inline_driver_grace;
  };
  std::unique_lock lock(gate_);
  parked_ = true;
  while (!due()) {
    awaits_leave_ = is_out() || !background_.load();
    if (awaits_leave_)
      gate_changed_.wait(lock);
    else
      gate_changed_.wait_until(lock, left_ + inline_driver_grace);
  }
  parked_ = awaits_leave_ = false;
  driven_ = true;
  owner_ = std::this_thread::get_id();
}

void reactor::enter() {
  ++inline_drivers_;
  std::unique_lock lock(gate_);
  if (driven_) {
    // Our thread looks at inline_drivers_ once a turn; it may be asleep.
    lock.unlock();
    const std::uint64_t number = 1;
    const auto written = ::write(wake_fd_, &number, sizeof number);
    static_cast<void>(written);
    lock.lock();
    gate_changed_.wait(lock, [&] { return !driven_; });
  }
  driven_ = true;
  owner_ = std::this_thread::get_id();
}

// Of who drives, or of who holds the gate while nobody does.
bool reactor::work_waits() const {
  return !ready_.empty() || !put_off_.empty() || remote_waits_.load() || stopping_.load();
}

void reactor::leave() {
  // What the last progress made ready: nobody is woken for an actor that is ready already.
  if (!ready_.empty()) run_ready();
  bool wanted = false;
  {
    std::lock_guard lock(gate_);
    driven_ = false;
    owner_ = std::thread::id();
    left_ = std::chrono::steady_clock::now();
    wanted = --inline_drivers_ > 0 || (parked_ && work_waits()) ||
             (awaits_leave_ && background_.load());
  }
  if (wanted) gate_changed_.notify_all();
}

reactor::inline_driver::inline_driver(reactor& home) : home_(home) {
  home_.enter();
}

reactor::inline_driver::~inline_driver() {
  home_.leave();
}

bool reactor::yield(bool after_work) {
  using clock = std::chrono::steady_clock;
  const auto before = clock::now();
  if (after_work) idle_since_ = before;
  const auto waits =
      inline_drivers_.load(std::memory_order_relaxed) > 0 ? inline_driver_spin : spin;
  if (contention_.is_likely(before) || before - idle_since_ > waits) return false;
  sched_yield();
  contention_.yielded(before, clock::now());
  return true;
}

void reactor::drain_wake() {
  std::uint64_t drained = 0;
  if (::read(wake_fd_, &drained, sizeof drained) < 0) return;  // EAGAIN: nobody called
}

void reactor::watch(int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  const bool added = epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) == 0;
  TIDEGATE_ASSERT(added, "epoll takes the reactor's descriptors");
}

void reactor::open_link(runtime::frame_sink* sink) {
  link_->set_sink(sink);
  watch(link_->event_fd());
  link_open_ = true;
}

runtime::expected<runtime::peer_id> reactor::connect(const std::string& address) {
  return link_->connect(link_of(address), reach_of(address_, address));
}

void reactor::close_link(std::uint32_t flush_ms_max) {
  if (!link_open_) return;
  epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, link_->event_fd(), nullptr);
  if (flush_ms_max > 0) end_turn();
  link_open_ = false;  // also while close() progresses, nobody else does
  link_->close(flush_ms_max);
}

// Messages of other threads end it.
void reactor::pause() {
  const auto length = std::chrono::nanoseconds(futile_.pause()).count();
  if (length == 0) return;
  pollfd waited{.fd = wake_fd_, .events = POLLIN, .revents = 0};
  const timespec limit{.tv_sec = 0, .tv_nsec = length};
  ::ppoll(&waited, 1, &limit, nullptr);
}

void reactor::sleep(bool patient, bool briefly) {
  pause();
  // Others may wait for something else.
  if (link_open_)
    link_->set_patient(patient && inline_drivers_.load() == 1 && !background_.load());
  if (link_open_ && !link_->arm()) return;  // there is something to do after all
  std::array<epoll_event, 2> events{};
  // A message may have come between run_ready and here: its eventfd is readable, so this
  // returns.
  const int longest = briefly ? static_cast<int>(interrupt_check::interval.count()) : -1;
  const auto before = std::chrono::steady_clock::now();
  epoll_wait(epoll_fd_, events.data(), static_cast<int>(events.size()), longest);
  futile_.woken(std::chrono::steady_clock::now() - before);
  drain_wake();
}

}  // namespace tidegate::actors
