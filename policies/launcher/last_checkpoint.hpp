// The last checkpoints: before an interrupt ends the run, jobs that have checkpoints write one
// more.
#pragma once

#include <cstdint>
#include <string>

#include "policies/launcher/effects.hpp"
#include "policies/launcher/plan.hpp"
#include "policies/launcher/wake_time.hpp"

namespace tidegate::policies::launching {

struct launcher_state;

class last_checkpoint {
 public:
  explicit last_checkpoint(launcher_state& state) : state_(state) {}

  // Asks for a checkpoint of each job that may be saved; check() interrupts the run when they
  // are written, or after the start timeout. Returns false, and does nothing, if there is no
  // such job, or jobs do not run.
  bool begin(std::int64_t now, const std::string& by, launch_effects& out);
  // Asks once more: another coordinator has answered, which knows nothing of the request.
  void ask_again(launch_effects& out);
  // Interrupts the run if nothing is left to wait for, or the time is up.
  void check(std::int64_t now, launch_effects& out);

  bool is_awaited() const { return !interrupted_by_.empty(); }
  std::int64_t next_wake() const { return until_; }

 private:
  bool may_be_saved(const launch_plan::job& job) const;
  bool any_may_be_saved() const;
  void ask(launch_effects& out) const;

  launcher_state& state_;
  std::string interrupted_by_;  // what ends the run when jobs are saved; empty: nothing
  std::int64_t until_ = never;  // when the run ends even if jobs are not saved
  std::uint64_t poll_ = 0;      // number of the first poll after the interrupt
};

}  // namespace tidegate::policies::launching
