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
// together. So it makes no difference which comes first, that a job has failed or what killed
// one of its workers. Each call appends effects, which the shell carries out in their order
// (effects.hpp). One thread; time is an argument: nanoseconds of a clock that never goes back.
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

  // Begins the run; to be called once, before anything else.
  void begin(std::int64_t now, launch_effects& out);
  // Answer launch_effects::start: the process runs, or could not be started.
  void started(std::int64_t now, process_number process, launch_effects& out);
  void could_not_start(std::int64_t now, process_number process, const std::string& why,
                       launch_effects& out);
  // A host may be used (again); or is lost, with all processes that were started on it or were
  // to be, and its spares. Hosts may be used from the start, before they are up.
  void host_up(host_number host, launch_effects& out);
  // The agent of a host that is to come up copies files: what waits for hosts has its time
  // anew.
  void host_copies(std::int64_t now);
  void host_down(std::int64_t now, host_number host, const std::string& why,
                 launch_effects& out);
  // What has come of a step of a survey on this host. No process but the coordinator is started
  // before the hosts are known to reach each other.
  void host_surveyed(host_number host, const agent_reports::surveyed& news);
  // Why a host that is lost is not back yet.
  void host_stays_down(host_number host, const std::string& why);
  // Answers launch_effects::renew: the epoch is durably on record, or could not be put there.
  void renewed(std::int64_t now, const runtime::status& result, launch_effects& out);
  // The coordinator listens. A coordinator that ends before it listens is reported by ended()
  // alone.
  void coordinator_ready(std::int64_t now, launch_effects& out);
  // The coordinator said something else than that it listens.
  void coordinator_unusable(std::int64_t now, const std::string& why, launch_effects& out);
  // Polls have come to something.
  void polled(std::int64_t now, const coordinator_news& news, launch_effects& out);
  // The launcher had no connection to the coordinator within the start timeout.
  void unreachable(std::int64_t now, const runtime::status& why, launch_effects& out);
  // Somebody has asked for the end of the run; `by` says how ("SIGINT"). With `saves` the run
  // ends when jobs that have checkpoints have written one more, or the start timeout has
  // passed. Asked for twice, everything ends at once.
  void interrupted(std::int64_t now, const std::string& by, bool saves, launch_effects& out);
  // Somebody has asked for the end of this job; `by` says how. The others go on. Returns an
  // error, and does nothing, if there is no such job, it has ended, or no jobs run. An effect
  // record_cancelled or was_done of this job says what has come of it, unless the run ends.
  runtime::status cancel(const std::string& job, const std::string& by, launch_effects& out);
  // A process has ended. decide() judges what that means.
  void ended(std::int64_t now, process_number process, process_exit exit);
  // A spare waits for a place, and can perhaps make copies of itself; or it has ended without a
  // place, or could not be started, and `why` says so ("a spare of job mlp (pid 47) was killed
  // by SIGKILL"). Likewise followed by decide().
  void spare_ready(spare_number spare, bool can_copy);
  void spare_ended(std::int64_t now, spare_number spare, const std::string& why,
                   launch_effects& out);
  // Answers launch_effects::leave: the job goes on without this worker, or `result` says why
  // not; then the worker comes back, unless its job has ended.
  void left(std::int64_t now, process_number process, const runtime::status& result,
            launch_effects& out);
  // Sets how many workers this job is to have, as the coordinator has agreed. New workers
  // follow the other processes, by rank: see processes(). Returns false, and does nothing, if
  // everything is being ended.
  bool scale(const std::string& job, std::uint32_t workers, launch_effects& out);
  // Returns true if scale() may be called now: jobs run, the coordinator is there, and no
  // process of this job is on its way out.
  bool may_scale(const std::string& job) const;
  // Sets how many slots of processes are to have shards, as the coordinator has agreed. The
  // coordinator ends, in order, the processes that have no shard any more. Returns false, and
  // does nothing, if everything is being ended.
  bool scale_shards(std::uint32_t slots, launch_effects& out);
  // Returns true if scale_shards() may be called now: jobs run, and the coordinator is there.
  bool may_scale_shards() const;
  // Returns the processes of the plan, and later ones, by number. Valid until scale(),
  // scale_shards(), decide().
  const std::vector<process_name>& processes() const noexcept;
  // Returns the host where the process was started last.
  host_number host_of(process_number process) const;
  // Returns the processes that live on the host, or are to be started there.
  std::vector<process_number> processes_on(host_number host) const;
  // Returns the incarnation of the last process that was started, or is to be started next,
  // under this number.
  std::uint32_t incarnation(process_number process) const;
  // A process shows no sign of life: it is killed, and ended() follows.
  void hangs(process_number process, std::int64_t silent_ns, launch_effects& out);
  // The coordinator has condemned a process that peers cannot reach: it is killed, if this
  // incarnation lives, and ended() follows.
  void condemned(const condemned_process& sentence, launch_effects& out);
  // Judges the events of a turn; to be called after them, and at next_wake().
  void decide(std::int64_t now, launch_effects& out);

  // Returns when decide() is due although nothing has happened; `never` if it is not.
  std::int64_t next_wake() const;

  // Returns true if jobs have begun to run and are not being ended.
  bool is_running() const;
  // Returns true if the run ends, or is about to: all jobs are over, or a last checkpoint is
  // being written, or processes are being ended.
  bool is_ending() const;
  // Returns a word for people: "starting", "running", "going back" or "ending"; valid for ever.
  std::string_view phase_text() const;
  // Returns the epoch that runs, or the one that `renew` last asked for.
  std::uint32_t epoch() const noexcept;
  // Returns a job as the latest poll has it; null if no job has this name. Valid until
  // polled(), renewed().
  const job_status* job(const std::string& name) const;
  // Returns how many workers of the job have a process that lives.
  std::uint32_t workers_alive(const std::string& job) const;
  // Returns all jobs as the run ends: a job that neither finished nor failed was interrupted,
  // or has failed for the reason that ended the run.
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
