#include "launch/run/status_feed.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "launch/run/read_status.hpp"
#include "runtime/base/service_thread.hpp"

namespace tidegate::launch {

namespace {

constexpr std::chrono::seconds pause_between_statuses{1};

}  // namespace

struct status_feed::state {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<runtime::expected<std::string>> newest;
  bool has_ended = false;
  std::chrono::steady_clock::time_point at = std::chrono::steady_clock::now();
  bool is_over = false;
};

status_feed::status_feed(const std::string& run_dir) : state_(std::make_shared<state>()) {
  runtime::start_service_thread([run_dir, into = state_] {
    for (;;) {
      auto newest = read_status(run_dir, [] {});
      const bool ends = newest && launch::has_ended(*newest);
      std::unique_lock lock(into->mutex);
      into->newest = std::move(newest);
      into->has_ended = ends;
      into->at = std::chrono::steady_clock::now();
      into->changed.notify_all();
      if (into->changed.wait_for(lock, pause_between_statuses, [&] { return into->is_over; }))
        return;
    }
  }).detach();
}

status_feed::~status_feed() {
  const std::lock_guard lock(state_->mutex);
  state_->is_over = true;
  state_->changed.notify_all();
}

status_feed::newest_answer status_feed::newest() const {
  const std::lock_guard lock(state_->mutex);
  const std::chrono::duration<double> age = std::chrono::steady_clock::now() - state_->at;
  return {state_->newest, state_->has_ended, age.count()};
}

}  // namespace tidegate::launch
