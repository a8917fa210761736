// Workers that have been started and have not joined their job: a worker that takes too long is
// killed, and a program that fails before it joins is not started again and again.
#pragma once

#include <cstdint>
#include <vector>

#include "policies/launcher/effects.hpp"
#include "policies/launcher/exit_judge.hpp"
#include "policies/model/process_name.hpp"

namespace tidegate::policies::launching {

struct launcher_state;

// A worker's program that ends with a failure before any process of its rank has joined is
// started again so often: it lacks a file, a module, an argument, and would lack it again.
inline constexpr std::uint32_t unjoined_restarts_max = 2;

class join_watch {
 public:
  explicit join_watch(launcher_state& state);

  // Adds the process of the next number.
  void add() { starts_.emplace_back(); }
  void started(std::int64_t now, process_number process) { starts_[process].at = now; }
  // Kills the workers that have not joined in time.
  void check(std::int64_t now, launch_effects& out);
  // Counts this end if it came before any process of the rank had joined. Returns false if
  // that has happened too often.
  bool may_start_again(const exit_report& end);
  // Gives every program all its tries again, in another epoch.
  void forget_failures();

  // Returns true if the coordinator has let in the process that was started last.
  bool has_joined(process_number process) const;
  // Returns how often a program has failed before any process of its rank had joined.
  std::uint32_t failures(process_number process) const { return starts_[process].failures; }
  std::int64_t next_wake() const;

 private:
  struct program_start {
    std::int64_t at = 0;         // of the last
    std::uint32_t failures = 0;  // ends with a status before any process of its rank has joined
  };

  std::uint32_t joined_incarnation(process_number process) const;
  bool failed_before_joining(const exit_report& end) const;
  std::int64_t deadline(process_number process) const;

  launcher_state& state_;
  std::vector<program_start> starts_;  // by process
};

}  // namespace tidegate::policies::launching
