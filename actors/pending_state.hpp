// The shared half of a `pending`: the session's thread waits, the reactor's thread completes.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "actors/client.hpp"

namespace tidegate::actors {

struct pending::state {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<runtime::status> outcome;
  std::function<void(const runtime::status&)> done;

  // The first outcome stands. Runs the callback, if any, on the calling thread.
  void complete(runtime::status result) {
    std::function<void(const runtime::status&)> call;
    {
      std::lock_guard lock(mutex);
      if (outcome) return;
      outcome = std::move(result);
      call = std::exchange(done, nullptr);
    }
    changed.notify_all();
    if (call) call(*outcome);
  }
};

using pending_ptr = std::shared_ptr<pending::state>;

}  // namespace tidegate::actors
