// Jobs that have checkpoints write one more before an interrupt ends the run.
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

  // Asks for a checkpoint of each job that may be saved, after which the run is interrupted.
  // Returns false if there is no such job, or jobs do not run.
  bool begin(std::int64_t now, const std::string& by, launch_effects& out);
  // Another coordinator has answered, and knows nothing of it yet.
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
  std::string interrupted_by_;  // jobs are saved before that ends the run; empty: nobody
  std::int64_t until_ = never;  // then it ends anyway
  std::uint64_t poll_ = 0;      // its answer is of after the interrupt
};

}  // namespace tidegate::policies::launching
