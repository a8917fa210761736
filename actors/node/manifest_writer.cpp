#include "actors/node/manifest_writer.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/base/service_thread.hpp"

namespace tidegate::actors {

struct manifest_writer::shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<work> waiting;
  std::vector<std::pair<done, runtime::status>> results;
  bool is_over = false;
  std::function<void()> ended;

  void serve();
};

// Another is not begun before this one is tidied up: they use the same storage.
void manifest_writer::shared::serve() {
  for (;;) {
    work next;
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [this] { return is_over || !waiting.empty(); });
      if (is_over) return;
      next = std::move(waiting.front());
      waiting.pop_front();
    }
    auto result = next.write();
    const bool is_written = result.ok();
    {
      const std::lock_guard lock(mutex);
      results.emplace_back(std::move(next.then), std::move(result));
    }
    ended();
    if (is_written) next.tidy();
  }
}

manifest_writer::manifest_writer(std::function<void()> ended)
    : shared_(std::make_shared<shared>()) {
  shared_->ended = std::move(ended);
}

// The last to hold the owner may be that thread, by what `ended` tells: it ends by itself then.
manifest_writer::~manifest_writer() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->is_over = true;
  }
  shared_->changed.notify_one();
  if (!thread_.joinable()) return;
  if (thread_.get_id() == std::this_thread::get_id())
    thread_.detach();
  else
    thread_.join();
}

void manifest_writer::add(work next) {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->waiting.push_back(std::move(next));
  }
  shared_->changed.notify_one();
  if (!thread_.joinable())
    thread_ = runtime::start_service_thread([shared = shared_] { shared->serve(); });
}

void manifest_writer::deliver() {
  std::vector<std::pair<done, runtime::status>> results;
  {
    const std::lock_guard lock(shared_->mutex);
    results.swap(shared_->results);
  }
  for (const auto& [then, result] : results) then(result);
}

}  // namespace tidegate::actors
