// When a worker that keeps state commits it, and which pushes wait for the commit.
//
// The push that completes a clock, as every other table has its push, is held back until the
// clock's commit: its chunks lack it, so that a process in this worker's place does not resume
// after this clock. Where they may have it, all pushes of the clock are held back: in the first
// clocks after a resume, as the process before may have made them in another order, and after
// a checkpoint that cuts chunks at different clocks. Plain state. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "policies/worker/effects.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::policies {

class commit_gate {
 public:
  // `certain_from`: the first clock of which no chunk has a push that this process has not
  // made.
  explicit commit_gate(std::uint64_t certain_from) : certain_from_(certain_from) {}

  // Begins to hold pushes back. Returns false, and does nothing, if a push of this clock may
  // have left that was to be held back. `tables`, here and below: how many there are.
  bool begin(std::uint64_t clock, std::size_t tables) noexcept {
    if (!holds_ && pushed_ > 0 && (is_complete(tables) || clock < certain_from_)) return false;
    return holds_ = true;
  }
  // Notes that another table has its push, or skip, of this clock.
  void note_push() noexcept { ++pushed_; }
  // Returns true if every table has.
  bool is_complete(std::size_t tables) const noexcept { return pushed_ == tables; }
  // Returns true if the push that note_push() has counted is to be held back.
  bool holds(std::uint64_t clock, std::size_t tables) noexcept {
    using runtime::planted_bug;
    if (!holds_ || runtime::is_planted(planted_bug::last_push_not_held_back)) return false;
    const bool all = clock < certain_from_ && !opened_ &&
                     !runtime::is_planted(planted_bug::only_last_push_held_after_a_resume);
    if (!all && !is_complete(tables)) return false;
    return holds_back_ = true;
  }
  bool any_held() const noexcept { return holds_back_; }
  // Lets what is held back leave: with the commit of this clock; or without it, as somebody
  // waits for a push and others of the clock follow, of which the last is held back. Returns
  // true if anything was held back.
  bool let_go(std::uint64_t clock, bool commits, worker_effects& out) {
    if (!holds_) return false;
    if (!commits) opened_ = true;
    if (commits && committed_ <= clock) out.commit = committed_ = clock + 1;
    return std::exchange(holds_back_, false);
  }
  void next_clock() noexcept {
    pushed_ = 0;
    opened_ = false;
  }
  // Forgets what is held back: the worker has failed.
  void clear() noexcept { holds_back_ = false; }

 private:
  std::uint64_t certain_from_;
  bool holds_ = false;
  bool holds_back_ = false;      // a push of this clock
  bool opened_ = false;          // in this clock, before it was complete
  std::uint64_t committed_ = 0;  // the clock of the last version
  std::size_t pushed_ = 0;       // tables, in this clock
};

}  // namespace tidegate::policies
