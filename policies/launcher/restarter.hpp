// Processes that have died and come back, each after a pause and only so often, and the
// consequence of a death after which the process does not come back: all go back to their
// checkpoints, or the run ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policies/launcher/effects.hpp"
#include "policies/launcher/exit_judge.hpp"
#include "policies/launcher/plan.hpp"
#include "policies/launcher/wake_time.hpp"
#include "policies/model/process_name.hpp"
#include "policies/model/spec.hpp"
#include "policies/supervision/restarts.hpp"

namespace tidegate::policies::launching {

struct launcher_state;

class restarter {
 public:
  explicit restarter(launcher_state& state);

  // Adds the process of the next number.
  void add() { intensities_.emplace_back(); }
  // Decides what follows from a death: the process comes back, or all go back, or the run ends.
  void on_unexpected_exit(const exit_report& end, std::int64_t now, launch_effects& out);
  // launch_core::could_not_start().
  void could_not_start(std::int64_t now, process_number process, const std::string& why,
                       launch_effects& out);
  // Takes in that no process has the contents of a shard any more: all processes of its chain
  // died together, or the primary died before a replica had everything. All go back, or the run
  // ends.
  void shard_lost(std::int64_t now, const std::string& why, launch_effects& out);
  // No host can take the process now: it is started when one can, or nobody needs it any more.
  void wait_for_host(process_number process, bool joins);
  // Starts the processes whose pause is over, and those that waited for a host, unless nobody
  // needs them any more.
  void start_rested(std::int64_t now, launch_effects& out);
  // Takes a process, or all processes, out of those that rest.
  void forget(process_number process);
  void forget();
  // Processes that wait for a host, and since when, as of the last start_rested().
  struct unplaced_process {
    process_number process = 0;
    bool joins = false;
    bool comes_back = false;  // else it is started in its turn
    std::optional<std::int64_t> since = std::nullopt;
  };
  const std::vector<unplaced_process>& unplaced() const noexcept { return unplaced_; }
  // Those that wait have waited since now.
  void allow_time_anew(std::int64_t now) noexcept {
    for (auto& each : unplaced_)
      if (each.since) each.since = now;
  }

  // Returns true if a process that dies now is to be started again.
  bool comes_back(process_number process) const;
  std::int64_t next_wake() const;

 private:
  bool back_off(const exit_report& end, launch_effects& out);
  const restart_spec& limits_of(process_role role) const;
  std::string reason_of(const exit_report& end) const;

  launcher_state& state_;
  std::vector<restart_intensity> intensities_;  // by process
  std::vector<timed_process> resting_;
  std::vector<unplaced_process> unplaced_;  // they rest
  process_number last_shard_death_ = 0;     // of those that were to come back
};

}  // namespace tidegate::policies::launching
