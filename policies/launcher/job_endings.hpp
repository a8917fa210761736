// Jobs that end before the run does: jobs that fail or are cancelled while there are others.
// The coordinator is told, their processes are ended and do not come back, and the run goes on
// until all jobs have ended.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policies/launcher/effects.hpp"
#include "policies/launcher/wake_time.hpp"
#include "policies/model/cluster_status.hpp"

namespace tidegate::policies::launching {

struct launcher_state;

class job_endings {
 public:
  // Begins with the jobs that were cancelled before the run was resumed.
  explicit job_endings(launcher_state& state);

  // Ends a job that has failed, or has to. The only job of a run takes the run along. `as`: how
  // the run has ended if every other job is done. `reason`: for people.
  void fail(std::int64_t now, const std::string& job, run_outcome as, const std::string& reason,
            launch_effects& out);
  // Ends a job because somebody asks for it; `reason`: for people.
  void cancel(const std::string& job, const std::string& reason, launch_effects& out);
  // Tells the coordinator of jobs that it does not know to have ended, ends processes that have
  // not left by themselves, and forgets jobs that were done before.
  void check(std::int64_t now, launch_effects& out);
  // Has the coordinator of the next epoch told as well.
  void begin_anew();

  // Return true if the job, or the job of this process, is one of these.
  bool has(const std::string& job) const { return find(job) != nullptr; }
  bool is_over(process_number process) const;
  bool is_cancelled(const std::string& job) const;
  // Returns the first job that has failed and is not yet one of these; null if none is.
  const job_status* first_unhandled() const;
  // Returns true if every job is done, or is one of these and the coordinator knows.
  bool all_over() const;
  // How the run ends if all_over(), and why; empty if all jobs are done.
  run_outcome outcome() const;
  std::string reason() const;
  std::int64_t next_wake() const;

 private:
  enum class stage : std::uint8_t { wanted, asked, ending };
  struct ending {
    std::string job;
    run_outcome outcome = run_outcome::job_failed;
    std::string reason;
    bool is_cancelled = false;
    stage at = stage::wanted;
    std::int64_t terminate_at = never;
    std::int64_t kill_at = never;
  };

  const ending* find(const std::string& job) const;
  void add(ending added, launch_effects& out);
  void begin(std::int64_t now, ending& of, launch_effects& out);
  void end_processes(std::int64_t now, ending& of, launch_effects& out);
  std::vector<process_number> alive(const ending& of) const;

  launcher_state& state_;
  std::vector<ending> endings_;
};

}  // namespace tidegate::policies::launching
