// Carries out the faults of a run's own file: hits that are drawn (chaos_core), and hits with a
// clock or a time. A hit that is due while its process is being replaced strikes the successor.
// Time is an argument, in nanoseconds of a clock that never goes back. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policies/model/fault_spec.hpp"
#include "policies/supervision/chaos_core.hpp"

namespace tidegate::policies {

class fault_core {
 public:
  static constexpr std::int64_t never = chaos_core::never;

  // `now` is the time of the launch.
  fault_core(fault_spec faults, std::int64_t now);

  // Returns when wake() is due next, whatever the clock of workers; chaos_core::never if it is
  // not.
  std::int64_t next_wake() const noexcept;
  // Appends the hits that are due, to be carried out in their order. `living` are all processes
  // of the run; `clock` is that of the slowest worker of the job that is furthest.
  void wake(std::int64_t now, std::span<const chaos_target> living, std::uint64_t clock,
            std::vector<chaos_order>& out);

 private:
  std::int64_t begin_;
  std::vector<timed_fault> timed_;  // that are still to come
  std::int64_t look_again_ = never;
  chaos_core chaos_;
};

}  // namespace tidegate::policies
