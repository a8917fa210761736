#include "launch/status_poller.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <signal.h>
#include <sys/eventfd.h>

namespace tidegate::launch {

namespace {

using clock = std::chrono::steady_clock;

// One attempt to connect: short, so that the end of a run is not held up by it.
constexpr std::uint32_t connect_ms_max = 1000;

}  // namespace

status_poller::status_poller(observe_function observe, const actors::node_options& options,
                             std::uint32_t interval_ms)
    : observe_(std::move(observe)),
      options_(options),
      interval_ms_(interval_ms),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  // Threads of the cluster's own start from this one: signals stay with the main thread.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

status_poller::~status_poller() {
  {
    const std::lock_guard lock(mutex_);
    finishing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

poll_news status_poller::take() {
  eventfd_t ignored = 0;
  ::eventfd_read(wake_.get(), &ignored);
  const std::lock_guard lock(mutex_);
  auto news = news_;
  news_.status.events.clear();
  news_.answers.clear();
  return news;
}

std::uint64_t status_poller::poll_now() {
  std::uint64_t ticket = 0;
  {
    const std::lock_guard lock(mutex_);
    ticket = ++requests_;
  }
  changed_.notify_all();
  return ticket;
}

std::uint64_t status_poller::ask(question what) {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = ++last_question_;
    questions_.emplace_back(number, std::move(what));
    has_new_question_ = true;
  }
  changed_.notify_all();
  return number;
}

void status_poller::finish(job_failures failures) {
  {
    const std::lock_guard lock(mutex_);
    failures_ = std::move(failures);
    finishing_ = true;
  }
  changed_.notify_all();
}

void status_poller::run() {
  if (!connect()) return;
  for (;;) {
    poll_once();
    {
      const std::lock_guard lock(mutex_);
      if (finishing_) break;
    }
    ask_questions();
    wait_a_while(true);
  }
  carry_out_finish();
}

bool status_poller::connect() {
  const auto deadline = clock::now() + std::chrono::milliseconds(options_.start_timeout_ms);
  auto attempt = options_;
  attempt.start_timeout_ms = std::min(attempt.start_timeout_ms, connect_ms_max);
  for (;;) {
    auto view = observe_(attempt);
    if (view) {
      view_ = std::move(*view);
      publish([](poll_news& n) {
        n.connected = true;
        n.health = {};
      });
      return true;
    }
    const bool late = clock::now() >= deadline;
    publish([&](poll_news& n) {
      n.health = view.error();
      n.gave_up = late;
    });
    {
      const std::lock_guard lock(mutex_);
      if (late || finishing_) return false;
    }
    wait_a_while(false);
  }
}

void status_poller::poll_once() {
  std::uint64_t asked = 0;
  {
    const std::lock_guard lock(mutex_);
    asked = requests_;
  }
  auto status = view_->poll(events_seen_);
  if (status && std::exchange(life_, status->life) != status->life && events_seen_ > 0) {
    events_seen_ = 0;
    status = view_->poll(0);
  }
  if (status) events_seen_ += status->events.size();
  publish([&](poll_news& n) {
    n.answered = asked;
    n.health = status ? runtime::status() : status.error();
    if (!status) return;
    auto events = std::move(n.status.events);  // those nobody has taken yet
    std::move(status->events.begin(), status->events.end(), std::back_inserter(events));
    n.status = std::move(*status);
    n.status.events = std::move(events);
  });
}

// One that is not answered is asked again after the next poll.
void status_poller::ask_questions() {
  std::vector<std::pair<std::uint64_t, question>> now;
  {
    const std::lock_guard lock(mutex_);
    now = std::exchange(questions_, {});
    has_new_question_ = false;
  }
  for (auto& [number, what] : now) {
    const auto told = what(*view_);
    const bool again =
        told.code() == runtime::errc::unavailable || told.code() == runtime::errc::timed_out;
    if (again) {
      const std::lock_guard lock(mutex_);
      questions_.emplace_back(number, std::move(what));
    } else {
      publish([&, number = number](poll_news& n) { n.answers.emplace_back(number, told); });
    }
  }
}

// Failures are of no interest any more: the launcher ends the processes itself where this does
// not. A coordinator that has just not answered is not waited for again.
void status_poller::carry_out_finish() {
  job_failures failures;
  {
    const std::lock_guard lock(mutex_);
    if (!news_.health.ok()) return;
    failures = std::move(failures_);
  }
  for (const auto& [job, why] : failures) {
    if (!view_->fail_job(job, why).ok()) return;
  }
  if (const auto stopped = view_->stop(); !stopped.ok()) {
    publish([&](poll_news& n) { n.health = stopped; });
  }
}

void status_poller::publish(const std::function<void(poll_news&)>& change) {
  {
    const std::lock_guard lock(mutex_);
    change(news_);
  }
  ::eventfd_write(wake_.get(), 1);
}

void status_poller::wait_a_while(bool until_requested) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(interval_ms_), [&] {
    return finishing_ || (until_requested && (requests_ > news_.answered || has_new_question_));
  });
}

}  // namespace tidegate::launch
