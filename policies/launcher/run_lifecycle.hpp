// Where a run is between its beginning and its end: processes are started in turn, jobs run,
// workers leave, everything ends, each within its time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policies/launcher/effects.hpp"
#include "policies/launcher/wake_time.hpp"
#include "policies/model/cluster_status.hpp"
#include "policies/model/millisecond.hpp"
#include "policies/model/process_name.hpp"

namespace tidegate::policies::launching {

struct launcher_state;

// Ending within two seconds: a chance to leave by itself, SIGTERM, SIGKILL.
inline constexpr std::int64_t end_terminate_after = 200 * millisecond;
inline constexpr std::int64_t end_kill_after = 1200 * millisecond;

// The header of launch_core draws how phases follow each other. Deaths are judged in the first
// three.
enum class run_phase : std::uint8_t { starting, running, leaving, clearing, stopping, ending };

class run_lifecycle {
 public:
  explicit run_lifecycle(launcher_state& state) : state_(state) {}

  // Begins to start all processes that wait, one after the other, in the first epoch or the
  // next.
  void begin(std::int64_t now, launch_effects& out);
  // Starts the process that is next in turn after this one. The process after the coordinator
  // is started by coordinator_ready().
  void started(std::int64_t now, process_number process, launch_effects& out);
  // Hosts are known to reach each other.
  void surveyed(std::int64_t now, launch_effects& out);
  // launch_core::coordinator_ready(), coordinator_unusable(), interrupted().
  void coordinator_ready(std::int64_t now, launch_effects& out);
  void coordinator_unusable(std::int64_t now, const std::string& why, launch_effects& out);
  void interrupted(std::int64_t now, const std::string& by, bool saves, launch_effects& out);
  // Gives jobs all their time to join once more, because the coordinator was away.
  void allow_time_anew(std::int64_t now) { since_ = now; }
  // Enters the phase in which everything ends before the next epoch.
  void begin_clearing() { phase_ = run_phase::clearing; }
  // Goes on to the next phase where this one is over, and ends processes that have outlasted
  // their time.
  void advance(std::int64_t now, launch_effects& out);
  // Ends everything; jobs that have not ended fail for this reason. Asserted: nothing has ended
  // the run before.
  void end(std::int64_t now, run_outcome outcome, const std::string& reason,
           launch_effects& out);
  // Ends everything because somebody has asked for it.
  void interrupt(std::int64_t now, const std::string& by, launch_effects& out);
  // Says how the run has ended once all processes have, for the first time.
  void conclude_if_over(launch_effects& out);

  run_phase phase() const { return phase_; }
  bool is(run_phase phase) const { return phase_ == phase; }
  // Returns true if deaths are judged, and not everything is being ended.
  bool is_active() const { return phase_ <= run_phase::leaving; }
  // Returns when starting began or, once all processes are started, when running began or the
  // coordinator last came back.
  std::int64_t since() const { return since_; }
  // Returns when the time is up that the coordinator has to be ready, or jobs have to begin.
  std::int64_t start_deadline() const;
  std::int64_t next_wake() const;
  // launch_core::is_interrupted(), outcome(), result().
  bool is_interrupted() const;
  run_outcome outcome() const;
  std::vector<job_status> result() const;

 private:
  void start_next(std::int64_t now, launch_effects& out);
  std::vector<process_number> to_leave() const;
  void terminate(const std::vector<process_number>& left, launch_effects& out);
  void kill(const std::vector<process_number>& left, launch_effects& out);
  bool is_over() const;

  launcher_state& state_;
  run_phase phase_ = run_phase::starting;
  std::int64_t since_ = 0;
  bool is_ready_ = false;            // the coordinator that was started last
  process_number last_in_turn_ = 0;  // the last that was started in its turn
  run_outcome outcome_ = run_outcome::done;
  std::string reason_;
  bool is_interrupted_ = false;
  bool concluded_ = false;
  std::int64_t terminate_at_ = never;
  std::int64_t kill_at_ = never;
};

}  // namespace tidegate::policies::launching
