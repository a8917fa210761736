// What the launcher decides: which process is started when, what the end of one means, when a
// job has failed, when and how everything is ended, and how the run has ended.
//
//   starting --coordinator ready--> running --all jobs done--> leaving --workers gone-->
//   stopping
//       \______a death that nobody comes back from______> clearing --all gone--> starting
//       \________________________________\__a failure or a request__________\__________>
//       ending
//
// Events come in turns: any number of them, then decide(), which judges what they come to
// together. So it makes no difference which is told first, that a job has failed or what
// killed one of its workers. Each call appends effects, which the shell carries out in their
// order. One thread; time is an argument: nanoseconds of a clock that never goes back.
//
// The work is done by the parts that launcher_state holds; this class hands each event to the
// part that owns it. What the end of a process means is one verdict of exit_judge, and what is
// waited for is one time in next_wake().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "policies/launcher/effects.hpp"
#include "policies/launcher/plan.hpp"
#include "policies/launcher/wake_time.hpp"
#include "policies/model/cluster_status.hpp"
#include "policies/model/process_name.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

namespace launching {
struct launcher_state;
}  // namespace launching

class launch_core {
 public:
  static constexpr std::int64_t never = launching::never;

  explicit launch_core(launch_plan plan);
  ~launch_core();
  launch_core(launch_core&& other) noexcept;
  launch_core& operator=(launch_core&& other) noexcept;

  void begin(std::int64_t now, launch_effects& out);
  void started(std::int64_t now, process_number process, launch_effects& out);
  void could_not_start(std::int64_t now, process_number process, const std::string& why,
                       launch_effects& out);
  // The epoch is on record, or could not be put there.
  void renewed(std::int64_t now, const runtime::status& result, launch_effects& out);
  // The coordinator listens. One that ends before it does is only told by ended().
  void coordinator_ready(std::int64_t now, launch_effects& out);
  // It said something else than that it listens.
  void coordinator_unusable(std::int64_t now, const std::string& why, launch_effects& out);
  void polled(std::int64_t now, const coordinator_news& news, launch_effects& out);
  // No connection to the coordinator within the start timeout.
  void unreachable(std::int64_t now, const runtime::status& why, launch_effects& out);
  // `by`: "SIGINT". `saves`: not before jobs that have checkpoints have written one more, or
  // the start timeout has passed. Asked for twice, everything ends at once.
  void interrupted(std::int64_t now, const std::string& by, bool saves, launch_effects& out);
  void ended(std::int64_t now, process_number process, process_exit exit);
  // Its job goes on without it; or why not: then it comes back.
  void left(std::int64_t now, process_number process, const runtime::status& result,
            launch_effects& out);
  // So many workers of this job are wanted, as the coordinator has agreed. Those that are new
  // follow the other processes, by rank: see processes(). False: everything is being ended, and
  // nothing follows.
  bool scale(const std::string& job, std::uint32_t workers, launch_effects& out);
  // Returns whether scale() may be asked for now: jobs run, the coordinator is there, and
  // nobody of this job is on the way out.
  bool may_scale(const std::string& job) const;
  // So many slots of processes have shards, as the coordinator has agreed. It ends those that
  // have none any more, each of which leaves well. False: as above.
  bool scale_shards(std::uint32_t slots, launch_effects& out);
  bool may_scale_shards() const;
  // Returns those of the plan, and later ones, by number. Valid until scale(), scale_shards(),
  // decide().
  const std::vector<process_name>& processes() const noexcept;
  // Returns that of the last process that was started under this number.
  std::uint32_t incarnation(process_number process) const;
  // It shows no sign of life: it is ended for good, and what that means is told by its end.
  void hangs(process_number process, std::int64_t silent_ns, launch_effects& out);
  // Peers cannot reach it, and the coordinator has chosen it among them: the same.
  void condemned(const condemned_process& sentence, launch_effects& out);
  // After the events of a turn, and at next_wake().
  void decide(std::int64_t now, launch_effects& out);

  // Returns when decide() is due although nothing has happened; `never` if it is not.
  std::int64_t next_wake() const;

  // Returns whether jobs have begun to run and are not being ended.
  bool is_running() const;
  std::uint32_t epoch() const noexcept;
  // Returns a job as the coordinator has last told of it; null if no job has this name. Valid
  // until polled(), renewed().
  const job_status* job(const std::string& name) const;
  std::uint32_t workers_alive(const std::string& job) const;
  // Returns all jobs at the end: those that neither finished nor failed were interrupted, or
  // have failed for the reason that the run was ended for.
  std::vector<job_status> result() const;
  // Returns true if somebody has asked for the end of a run whose jobs are not all done.
  bool is_interrupted() const;
  // Returns how the run ends, as far as is known: done once all jobs are, whatever ended it.
  run_outcome outcome() const;

 private:
  // It stays where it is when the core is moved: its parts refer to it.
  std::unique_ptr<launching::launcher_state> state_;
};

}  // namespace tidegate::policies
