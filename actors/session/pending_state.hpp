// The shared half of a `pending`: whoever drives the session's reactor completes it, and who
// waits drives.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <tidegate/pending.hpp>

namespace tidegate::actors {

class reactor;

// Lets a push leave that its session holds back for the end of the clock.
class held_push {
 public:
  virtual ~held_push() = default;
  // Somebody is about to wait for a push of this clock.
  virtual void release(std::uint64_t clock) = 0;
};

struct pending_state {
  reactor* home = nullptr;    // who waits drives it; null: complete from the start
  bool patient = false;       // it does not end with an acknowledgement
  held_push* push = nullptr;  // of a push that may be held back: outlives its end
  std::uint64_t clock = 0;    // of that push
  std::atomic<bool> ready{false};
  std::mutex mutex;
  std::optional<status> outcome;
  std::function<void(const status&)> done;

  // The first outcome stands. Runs the callback, if any, on the calling thread.
  void complete(status result) {
    std::function<void(const status&)> call;
    {
      std::lock_guard lock(mutex);
      if (outcome) return;
      outcome = std::move(result);
      ready.store(true, std::memory_order_release);
      call = std::exchange(done, nullptr);
    }
    if (call) call(*outcome);
  }
};

using pending_ptr = std::shared_ptr<pending_state>;

// An operation that has failed before it began.
pending failed(status why);

// Returns the outcome of a call in a process that was forked from the session's.
status of_another_process();

}  // namespace tidegate::actors
