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
// What the end of a process means is one verdict of judge(), and what is waited for is one time
// in next_wake().
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "policies/model/cluster_status.hpp"
#include "policies/model/process_name.hpp"
#include "policies/supervision/restarts.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

struct launch_plan {
  struct job {
    std::string name;
    std::string policy;  // "bsp", as job_status has it
    std::uint32_t workers = 0;
    worker_loss_rule on_worker_loss = worker_loss_rule::fail;
    bool checkpoints = false;
  };
  std::vector<process_name> processes;  // in the order they are started, the coordinator first
  std::vector<job> jobs;
  std::uint32_t start_timeout_ms = 30'000;
  std::string start_timeout_text = "30s";  // for messages
  supervision_spec supervision;
  // Every job has checkpoints: when a process dies that nobody takes the place of, everything
  // is ended and started again, in the next epoch.
  bool goes_back = false;
  // Shards have replicas: one that dies comes back, as the replica of the other.
  bool replicated = false;
  // Where they move: shards, replicas of each, and slots of processes that are started first.
  std::uint32_t shards = 0;
  std::uint32_t replicas = 0;
  std::uint32_t slots = 0;
  std::uint32_t epoch = 1;
};

// A worker's program that ends with a failure before any process of its rank has joined is
// started again so often: it lacks a file, a module, an argument, and would lack it again.
inline constexpr std::uint32_t unjoined_restarts_max = 2;

// How a process has ended. `text`: "worker 2 of job mlp (pid 47) was killed by SIGKILL".
struct process_exit {
  enum class ending : std::uint8_t { clean, bad_status, by_signal };
  ending kind = ending::clean;
  std::string text;
};

enum class run_outcome : std::uint8_t { done, job_failed, process_died };

struct launch_effects {
  // Answered by started() or could_not_start() before any other event.
  struct start {
    process_number process = 0;
    std::uint32_t incarnation = 1;  // rises when it comes back
    std::uint32_t epoch = 1;
  };
  // A new epoch begins: the coordinator of the one before is polled no more. Answered by
  // renewed() before any other event.
  struct renew {
    std::uint32_t epoch = 1;
  };
  // All processes are started: poll the coordinator from now on, again and again.
  struct watch {};
  // Poll without delay. Counted from 1, see coordinator_news.
  struct poll_now {};
  // Poll once more, tell the coordinator that these jobs have failed, and why, and to stop.
  struct stop_cluster {
    std::vector<std::pair<std::string, std::string>> failures;
  };
  // This worker has died, and its job is to go on without it: the coordinator is told, and its
  // word is given to left().
  struct leave {
    process_number process = 0;
  };
  // The run is about to be interrupted: the coordinator is asked for one more checkpoint of
  // this job, and job_status::last_checkpoint says when it is written.
  struct save {
    std::string job;
  };
  // A process is asked to end, or ended.
  struct terminate {
    process_number process = 0;
  };
  struct kill {
    process_number process = 0;
  };
  // For the journal of the run.
  struct note {
    std::string subject;
    std::string detail;
  };
  // For people: a line, and the end of what a process has said.
  struct complain {
    std::string text;
  };
  struct show_log {
    process_number process = 0;
  };
  // Every process has ended; the last effect. `reason`: why not all jobs are done.
  struct conclude {
    run_outcome outcome = run_outcome::done;
    std::string reason;
  };
  using effect = std::variant<start, renew, watch, poll_now, stop_cluster, leave, save,
                              terminate, kill, note, complain, show_log, conclude>;
  std::vector<effect> all;
};

// How polling the coordinator goes. May be told again when nothing has changed.
struct coordinator_news {
  runtime::status health;        // of the latest poll
  std::uint64_t answered = 0;    // the latest poll_now that has come before that poll
  std::vector<job_status> jobs;  // of the latest poll that was answered; empty: of none
  std::uint32_t life = 0;        // of the coordinator that answered it
  std::string lost;              // see cluster_status
  std::vector<condemned_process> condemned = {};  // likewise
};

class launch_core {
 public:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  explicit launch_core(launch_plan plan);

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
  // Whether it can be.
  bool may_scale(const std::string& job) const;
  // So many slots of processes have shards, as the coordinator has agreed. It ends those that
  // have none any more, each of which leaves well. False: as above.
  bool scale_shards(std::uint32_t slots, launch_effects& out);
  bool may_scale_shards() const { return phase_ == phase::running && !away_; }
  // Those of the plan, and later ones, by number.
  const std::vector<process_name>& processes() const noexcept { return plan_.processes; }
  // Of the last process that was started under this number.
  std::uint32_t incarnation(process_number process) const { return incarnations_.at(process); }
  // It shows no sign of life: it is ended for good, and what that means is told by its end.
  void hangs(process_number process, std::int64_t silent_ns, launch_effects& out);
  // Peers cannot reach it, and the coordinator has chosen it among them: the same.
  void condemned(const condemned_process& sentence, launch_effects& out);
  // After the events of a turn, and at next_wake().
  void decide(std::int64_t now, launch_effects& out);

  // When decide() is due although nothing has happened; `never`.
  std::int64_t next_wake() const;

  // Whether jobs have begun to run and are not being ended.
  bool is_running() const { return phase_ == phase::running || phase_ == phase::leaving; }
  std::uint32_t epoch() const noexcept { return plan_.epoch; }
  // As last told; null: no job of this name.
  const job_status* job(const std::string& name) const;
  std::uint32_t workers_alive(const std::string& job) const;
  // All jobs at the end: those that neither finished nor failed were interrupted, or have
  // failed for the reason that the run was ended for.
  std::vector<job_status> result() const;
  // Somebody has asked for the end of a run whose jobs are not all done.
  bool is_interrupted() const { return is_interrupted_ && !all_done(); }
  // How the run ends, as far as is known: done once all jobs are, whatever ended it.
  run_outcome outcome() const { return all_done() ? run_outcome::done : outcome_; }

 private:
  enum class phase : std::uint8_t { starting, running, leaving, clearing, stopping, ending };
  enum class process_state : std::uint8_t {
    waiting,
    starting,
    alive,
    resting,
    leaving,  // dead, and the coordinator has not said that the others go on without it
    gone,
    unused,  // not of its job, so far or any more
  };
  enum class verdict : std::uint8_t {
    as_expected,    // a worker that is done
    after_its_job,  // it ended badly, but its job was done by then: a warning
    job_failed,     // the worker said so itself, then ended
    process_died,   // nobody expected it
  };
  // One that has died and comes back.
  struct rest {
    process_number process = 0;
    std::int64_t until = 0;
  };
  struct program_start {
    std::int64_t at = 0;         // of the last
    std::uint32_t failures = 0;  // ends with a status before any process of its rank has joined
  };
  struct unjudged {
    process_number process = 0;
    process_exit exit;
    std::int64_t at = 0;
    std::uint64_t poll = 0;  // its answer tells what the job thinks of it
  };

  void start_next(std::int64_t now, launch_effects& out);
  void judge_ends(std::int64_t now, launch_effects& out);
  std::int64_t ripe_at(const unjudged& end) const;
  verdict judge(const unjudged& end) const;
  bool comes_back(process_number process) const;
  worker_loss_rule rule_of(process_number process) const;
  bool others_go_on(process_number process) const;
  void do_without(const unjudged& end, launch_effects& out);
  void start_more(const process_name& name, launch_effects& out);
  bool is_beyond(const process_name& name, std::uint32_t slots) const;
  void start_slots(launch_effects& out);
  void send_away(process_number process, launch_effects& out);
  void end_unwanted(std::int64_t now, launch_effects& out);
  bool is_unwanted(process_number process) const;
  bool is_surplus(process_number process) const;
  bool is_extra(process_number process) const;
  bool rest_or_not(const unjudged& end, launch_effects& out);
  void bury(const unjudged& end, std::int64_t now, launch_effects& out);
  void start_again(std::int64_t now, launch_effects& out);
  void clear(const std::string& why, launch_effects& out);
  void go_back(std::int64_t now, launch_effects& out);
  void wait_for_record(std::int64_t now, const runtime::status& failure, launch_effects& out);
  const restart_spec& limits_of(process_role role) const;
  void lost(std::int64_t now, const std::string& why, launch_effects& out);
  std::uint32_t workers_gone(const launch_plan::job& job) const;
  void check_jobs(std::int64_t now, launch_effects& out);
  void check_workers(std::int64_t now, launch_effects& out);
  // Workers that have not joined, launch_joins.cpp.
  std::uint32_t joined_incarnation(process_number process) const;
  bool failed_before_joining(const unjudged& end) const;
  bool may_start_again(const unjudged& end);
  std::int64_t join_deadline(process_number process) const;
  void check_joins(std::int64_t now, launch_effects& out);
  // A last checkpoint, launch_last_checkpoint.cpp.
  bool may_be_saved(const launch_plan::job& job) const;
  bool begin_saving(std::int64_t now, const std::string& by, launch_effects& out);
  void ask_to_save(launch_effects& out);
  void check_saving(std::int64_t now, launch_effects& out);
  void advance(std::int64_t now, launch_effects& out);
  void begin_end(std::int64_t now, run_outcome outcome, const std::string& reason,
                 launch_effects& out);

  bool is_watching() const { return phase_ <= phase::leaving; }

  static bool has_ended(const job_status& job) {
    return job.state == job_state::done || job.state == job_state::failed;
  }
  bool is_over() const;
  bool all_done() const;
  bool workers_missing(const launch_plan::job& job) const;
  bool any_worker_alive() const;
  const job_status* first_failed() const;
  process_role role_of(process_number process) const { return plan_.processes[process].role; }
  std::vector<process_number> alive() const;

  launch_plan plan_;
  std::int64_t start_timeout_;
  phase phase_ = phase::starting;
  std::vector<process_state> processes_;
  std::vector<job_status> jobs_;
  std::vector<unjudged> unjudged_;
  std::vector<std::uint32_t> incarnations_;   // by process
  std::vector<restart_intensity> intensity_;  // by process
  restart_intensity goings_back_;             // for a coordinator that dies too often
  restart_intensity failed_epochs_;           // that could not be put on record
  std::vector<program_start> starts_;         // by process
  std::vector<std::string> killed_as_;        // by process: why it was killed, or empty
  std::vector<rest> resting_;
  std::uint32_t slots_wanted_ = 0;               // of processes that have shards
  bool slot_ended_ = false;                      // a process of one, as it was told to
  std::map<std::string, std::uint32_t> wanted_;  // workers, by job, since scale()
  std::vector<rest> unwanted_;                   // asked to end; ended by force at that time
  process_number last_shard_death_ = 0;          // of those that were to come back
  process_number row_ = 0;                       // the last that was started in its turn
  std::int64_t back_at_ = never;                 // clearing: not before
  run_outcome outcome_ = run_outcome::done;
  std::string reason_;
  bool is_interrupted_ = false;
  bool healthy_ = true;
  bool concluded_ = false;
  bool watches_ = false;      // the coordinator is polled
  bool poll_wanted_ = false;  // a process has ended since
  // The coordinator has died and the next one has not answered: what is known of jobs is old,
  // and no time is up because of it.
  bool away_ = false;
  bool is_back_ = false;     // since the last decide()
  std::uint64_t polls_ = 0;  // asked for
  std::uint64_t answered_ = 0;

  std::int64_t phase_since_ = 0;          // of starting, then of running
  std::int64_t failure_seen_at_ = never;  // the first
  std::int64_t workers_gone_at_ = never;  // while a job that is not done lacks workers
  std::string interrupted_by_;       // jobs are saved before that ends the run; empty: nobody
  std::int64_t save_until_ = never;  // then it ends anyway
  std::uint64_t save_poll_ = 0;      // its answer is of after the interrupt
  std::int64_t terminate_at_ = never;
  std::int64_t kill_at_ = never;
};

}  // namespace tidegate::policies
