// Which versions of a worker's state are copied to the launcher, and what the worker sends
// meanwhile, which waits.
//
// Copied are the version at which a process resumes, the first that it commits, and those of
// every so many clocks. No push, skip, pull, call or farewell leaves before they are there. So
// a process of this worker on another host, which knows the copies alone, finds the version of
// each of those clocks up to its own, and knows whether there was any state at all
// (docs/decisions/0021-worker-state.md, (i)). Plain state. One thread. Once warm, nothing
// allocates.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "policies/worker/effects.hpp"
#include "runtime/base/mirror_request.hpp"

namespace tidegate::policies {

class mirror_gate {
 public:
  // The process has resumed at this clock. `every`: versions of how many clocks to copy one of;
  // not 0.
  runtime::mirror_request begin(std::uint64_t every, std::uint64_t clock);
  // Returns true if state is copied at all.
  bool is_used() const noexcept { return every_ > 0; }
  // A version is committed. Returns what to ask for, if it is to be copied.
  std::optional<runtime::mirror_request> committed(std::uint64_t version);
  // The launcher has what this request asked for, and what those before it did.
  void mirrored(std::uint64_t number);

  // Returns true if nothing may be sent.
  bool waits() const noexcept { return mirrored_ < asked_; }
  void hold(const worker_effects::send& send) { held_.push_back(send); }
  // What is held of this shard is sent anew; or all is of no use any more.
  void drop(std::uint32_t shard);
  void clear() { held_.clear(); }
  // Calls send(item) for what is held, in its order, if it may leave.
  template <class Send>
  void release(const Send& send) {
    if (waits()) return;
    for (const auto& item : held_) send(item);
    held_.clear();
  }

 private:
  std::uint64_t every_ = 0;
  bool has_committed_ = false;
  std::uint64_t asked_ = 0;  // requests
  std::uint64_t mirrored_ = 0;
  std::vector<worker_effects::send> held_;
};

}  // namespace tidegate::policies
