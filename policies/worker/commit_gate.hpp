// When a worker that keeps state commits it, and the push that waits for the commit. The push
// that completes a clock, as every other table has its push, is held back until the clock's
// commit. Plain state. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "policies/worker/effects.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::policies {

class commit_gate {
 public:
  // Begins to hold pushes back. Returns false, and does nothing, if all of so many tables have
  // their push of this clock: the last may have left.
  bool begin(std::size_t tables) noexcept {
    if (!holds_ && pushed_ > 0 && pushed_ == tables) return false;
    return holds_ = true;
  }
  // Notes that another table has its push, or skip, of this clock.
  void note_push() noexcept { ++pushed_; }
  // Returns true if the push of this table, which note_push() has counted as one of so many
  // tables, is to be held back; it is then.
  bool holds(std::uint32_t table, std::size_t tables) noexcept {
    if (!holds_ || pushed_ < tables ||
        runtime::is_planted(runtime::planted_bug::last_push_not_held_back))
      return false;
    held_ = table;
    return true;
  }
  // Returns true if this table's push of the clock under way is held back.
  bool is_held(std::uint32_t table) const noexcept { return held_ == table; }
  bool any_held() const noexcept { return held_.has_value(); }
  // Commits at the end of this clock, once. Returns the table whose push may leave now, if a
  // push was held back.
  std::optional<std::uint32_t> commit(std::uint64_t clock, worker_effects& out) {
    if (!holds_ || committed_ > clock) return {};
    out.commit = committed_ = clock + 1;
    const auto table = held_;
    held_.reset();
    return table;
  }
  void next_clock() noexcept { pushed_ = 0; }
  // Forgets the push that is held back: the worker has failed.
  void clear() noexcept { held_.reset(); }

 private:
  bool holds_ = false;
  std::uint64_t committed_ = 0;  // the clock of the last version
  std::optional<std::uint32_t> held_;
  std::size_t pushed_ = 0;  // tables, in this clock
};

}  // namespace tidegate::policies
