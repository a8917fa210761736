#include "launch/run/status_poller.hpp"

#include <algorithm>
#include <chrono>
#include <sys/eventfd.h>
#include <utility>

#include "policies/model/millisecond.hpp"
#include "runtime/base/service_thread.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::launch {

namespace {

using action = poll_step::action;

// One attempt to connect: short, so that the end of a run is not held up by it.
constexpr std::uint32_t connect_ms_max = 1000;

}  // namespace

status_poller::status_poller(observe_function observe, const actors::node_options& options,
                             std::uint32_t interval_ms)
    : observe_(std::move(observe)),
      options_(options),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      shell_({.interval_ns = interval_ms * policies::millisecond,
              .give_up_ns = options.start_timeout_ms * policies::millisecond}) {
  // Threads of the cluster's own start from this one, and inherit that it takes no signal.
  thread_ = runtime::start_service_thread([this] { run(); });
}

status_poller::~status_poller() {
  {
    const std::lock_guard lock(mutex_);
    shell_.finish();
  }
  changed_.notify_all();
  thread_.join();
}

poll_news status_poller::take() {
  eventfd_t ignored = 0;
  ::eventfd_read(wake_.get(), &ignored);
  const std::lock_guard lock(mutex_);
  return shell_.take();
}

std::uint64_t status_poller::poll_now() {
  std::uint64_t ticket = 0;
  {
    const std::lock_guard lock(mutex_);
    ticket = shell_.poll_now();
  }
  changed_.notify_all();
  return ticket;
}

std::uint64_t status_poller::ask(question item) {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = shell_.ask();
    questions_.emplace(number, std::move(item));
  }
  changed_.notify_all();
  return number;
}

void status_poller::finish(poll_shell::job_failures failures) {
  {
    const std::lock_guard lock(mutex_);
    shell_.finish(std::move(failures));
  }
  changed_.notify_all();
}

void status_poller::run() {
  auto step = shell_.begin(runtime::steady_now());
  while (step.kind != action::done) {
    policies::cluster_status status;
    const auto result = perform(step, status);
    {
      const std::lock_guard lock(mutex_);
      const auto before = std::move(step);
      step = shell_.next(runtime::steady_now(), result, std::move(status));
      if (before.kind == action::rest) continue;
      if (before.kind == action::ask && !shell_.is_open(before.question))
        questions_.erase(before.question);
    }
    ::eventfd_write(wake_.get(), 1);
  }
}

runtime::status status_poller::perform(const poll_step& step,
                                       policies::cluster_status& status) {
  switch (step.kind) {
    case action::connect:
      return connect();
    case action::reconnect:
      return view_->reconnect();
    case action::poll: {
      auto answer = view_->poll(step.events_seen);
      if (!answer) return answer.error();
      status = std::move(*answer);
      return {};
    }
    case action::ask:
      return ask_question(step.question);
    case action::rest:
      rest(step.pause_ns);
      return {};
    case action::fail_job:
      return view_->fail_job(step.job, step.why);
    case action::stop:
      return view_->stop();
    case action::done:
      break;
  }
  return {};
}

runtime::status status_poller::connect() {
  auto attempt = options_;
  attempt.start_timeout_ms = std::min(attempt.start_timeout_ms, connect_ms_max);
  auto view = observe_(attempt);
  if (!view) return view.error();
  view_ = std::move(*view);
  return {};
}

runtime::status status_poller::ask_question(std::uint64_t number) {
  question item;
  {
    const std::lock_guard lock(mutex_);
    item = questions_.at(number);
  }
  return item(*view_);
}

void status_poller::rest(std::int64_t pause_ns) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::nanoseconds(pause_ns),
                    [&] { return shell_.ends_rest(); });
}

}  // namespace tidegate::launch
