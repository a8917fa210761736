// What the coordinator decides: who is a member, which tables exist and where their chunks
// live, when a job has begun, is done or has failed.
//
// Events come in as calls, effects are appended to `out`, and the shell carries them out as
// effects.hpp says. Answers to calls come in by call_done(); requests of nodes are answered
// through tickets that the shell chose, each exactly once. One thread; time is an argument
// (unix nanoseconds). The work is done by the parts that coordinator_state holds; this class
// hands each event to the part that owns it.
//
// A decision is in the journal (coordinator_effects::records) before anybody hears of it, so
// that another process can go on with the same decisions: shards and aggregators join that
// process again, and it asks of them again what the process before may have asked. Until all
// are in it answers `unavailable` to requests that it cannot answer yet, and nodes ask again
// (retry_backoff.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policies/coordinator/effects.hpp"
#include "policies/coordinator/record.hpp"
#include "policies/coordinator/state.hpp"
#include "policies/model/cluster_status.hpp"
#include "policies/model/rank_progress.hpp"
#include "policies/model/spec.hpp"
#include "policies/placement/replica_chain.hpp"
#include "policies/placement/shard_map.hpp"
#include "policies/protocol/control_calls.hpp"
#include "policies/supervision/reachability_judge.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

class coordinator_core {
 public:
  // `from` is what the run begins with, unless `before`, the journal of the processes before
  // this one (decode_journal), says what it began with. `incarnation` counts the processes,
  // from 1.
  coordinator_core(cluster_spec cluster, std::uint64_t token, restored_cluster from = {},
                   recorded_cluster before = {}, std::uint32_t incarnation = 1);
  // Begins, or goes on: to be called before any other call, where there is a journal.
  void begin(std::int64_t now, coordinator_effects& out);

  // A process asks to join. All return true if the process was taken in; if not, the answer to
  // `requester` says why. An answer may follow by a later event.
  bool shard_joined(std::int64_t now, std::uint32_t index, std::string address,
                    ticket requester, coordinator_effects& out, group_member member = {});
  // The process of a slot, where shards move. It has the members `has` of groups already, each
  // of which joins on its own, by shard_joined().
  bool host_joined(std::int64_t now, shard_map::process process, std::uint32_t incarnation,
                   std::span<const hosted_member> has, ticket requester,
                   coordinator_effects& out);
  bool aggregator_joined(std::int64_t now, const std::string& job, std::uint32_t index,
                         std::string address, ticket requester, coordinator_effects& out,
                         std::uint32_t incarnation = 1);
  bool worker_joined(std::int64_t now, const worker_hello& hello, ticket requester,
                     coordinator_effects& out);
  // Creates the table or attaches to it. `requester` is answered with a table_grant, once all
  // shards and aggregators have opened the table. Errors: not_found (no such job),
  // invalid_argument, over_limit, refused (the job has ended), unavailable.
  void open_table(const table_request& request, ticket requester, coordinator_effects& out);
  // Takes in the answer to a call of coordinator_effects::calls; a late or repeated answer
  // changes nothing. control_calls.hpp says which calls are answered with a number (`answer`);
  // `clocks` is the answer to a sum_progress_call.
  void call_done(std::int64_t now, call_id call, const runtime::status& result,
                 coordinator_effects& out, std::uint64_t answer = 0,
                 std::span<const chunk_clock> clocks = {});

  // A worker says which tables it has opened, at its first push or clock(), after which it
  // opens no more. A table that one worker of a bsp or ssp job opened and another did not would
  // wait for ever: the job fails and says so.
  void tables_opened(std::int64_t now, const std::string& job, std::uint32_t rank,
                     std::vector<std::uint32_t> tables, coordinator_effects& out);
  // A worker says how far it is. A checkpoint of its job may be due.
  void progress(std::int64_t now, const std::string& job, std::uint32_t rank,
                const worker_progress& report, coordinator_effects& out);
  // A shard or aggregator, named by the address of its link, says when pushes came in.
  void arrivals(std::int64_t now, const std::string& reporter, const shard_report& report);
  // The shell has named a checkpoint (coordinator_effects::begin_checkpoint).
  void checkpoint_begun(std::int64_t now, const std::string& job, checkpoint_id id,
                        coordinator_effects& out);
  // A shard says that its part of a checkpoint is durable, or could not be written.
  void checkpoint_part(std::int64_t now, const checkpoint_report& report,
                       coordinator_effects& out);
  // The shell has written a manifest (coordinator_effects::write_manifest), or could not.
  void checkpoint_written(std::int64_t now, const std::string& job, checkpoint_id id,
                          const runtime::status& result, coordinator_effects& out);
  // Asks for one more checkpoint of this job, as soon as it can be; job_status::last_checkpoint
  // says when it is written.
  void want_last_checkpoint(const std::string& job);
  // Keeps a number that a worker reports. Errors: not_found, invalid_argument (the length of
  // the name), over_limit.
  runtime::status metric(const std::string& job, const std::string& name, double value,
                         coordinator_effects& out);
  // A worker has finished. `parameters_sha256` is of the worker that hashes (is_to_hash), else
  // empty. Told again it changes nothing.
  void worker_finished(std::int64_t now, const std::string& job, std::uint32_t rank,
                       const worker_progress& last, const std::string& parameters_sha256,
                       coordinator_effects& out);
  // Fails a job. The first reason stands; a job that is done stays done.
  void fail_job(std::int64_t now, const std::string& job, const std::string& why,
                coordinator_effects& out);
  // A worker asks to be told of moves (coordinator_effects::moves): of all that have been at
  // once, of others when they happen. A worker whose control connection broke asks again over
  // the next one, by which it is known to live.
  void moves_of(const std::string& job, std::uint32_t rank, std::uint32_t incarnation,
                coordinator_effects& out);
  // Sets how many workers a job is to have. Ranks below `workers` may join while the job runs;
  // higher ranks are to leave, each by worker_leaves(). Errors: not_found, cancelled (the job
  // has ended), over_limit, refused (aggregators are in the way).
  runtime::status scale(std::int64_t now, const std::string& job, std::uint32_t workers,
                        coordinator_effects& out);
  // Sets how many slots of processes are to have the shards, which move while jobs run. Errors:
  // refused (shards do not move in this cluster, or have moved too often), over_limit,
  // unavailable (not all processes have joined yet).
  runtime::status scale_shards(std::int64_t now, std::uint32_t slots, coordinator_effects& out);
  // A worker has died, and its job is to go on without it (worker_loss_rule::shrink). Answers
  // `requester` once all who must know do. Errors: not_found, refused (this worker is the last
  // that has not finished), cancelled (the job has ended), unavailable (a shard or an
  // aggregator did not take the change).
  void worker_leaves(std::int64_t now, const std::string& job, std::uint32_t rank,
                     ticket requester, coordinator_effects& out);
  // Returns true if this worker, which is about to finish, is to hash the parameters: it has
  // the lowest rank of those that have neither finished nor left, and no hash is known.
  bool is_to_hash(const std::string& job, std::uint32_t rank) const;
  // A member's connection or process is lost. The core notes that, and does not judge it where
  // nobody can take the member's place: the launcher, which watches the processes, decides what
  // follows. A member that leaves after the end of its job is not lost. shard_lost() returns
  // true if the place in the chain goes to another process: the member is to end, if it lives.
  bool shard_lost(std::int64_t now, std::uint32_t index, const std::string& why,
                  coordinator_effects& out, std::uint32_t member = 0);
  // A process of a slot is lost; each of its members is told by shard_lost() besides.
  void host_lost(shard_map::process process, std::uint32_t incarnation);
  // A process of a slot has this member no more: it has ended in order
  // (coordinator_effects::retirements).
  void member_gone(std::int64_t now, const hosted_member& hosted, coordinator_effects& out);
  void aggregator_lost(std::int64_t now, const std::string& job, std::uint32_t index,
                       const std::string& why, coordinator_effects& out);
  void worker_lost(std::int64_t now, const std::string& job, std::uint32_t rank,
                   const std::string& why);

  // A member cannot reach these peers (reachability_judge). status() says which process is
  // condemned for it; the launcher kills that process, and all else follows from its death.
  void unreachable(std::int64_t now, const std::string& reporter,
                   std::span<const unreachable_peer> peers);
  // Condemn a member, by the address of its link, or a process of a slot: it has not come back
  // to the coordinator for supervision.unreachable.
  void out_of_reach(std::int64_t now, const std::string& address);
  void out_of_reach(std::int64_t now, shard_map::process process, std::uint32_t incarnation);
  // Looks who waits for whom; status() and events tell of waits of two seconds and more. To be
  // called now and then, at least once a second.
  void look_at_waits(std::int64_t now);
  // Returns the state of the cluster, with the events after the first `events_seen`.
  cluster_status status(std::int64_t now, std::uint64_t events_seen) const;
  // Returns all tables of a job that are ready; see may_tell_tables().
  std::vector<table_grant> tables(const std::string& job) const;
  // Returns whether tables() is complete. Errors: unavailable (some tables were ready before
  // this process began, and are not ready again).
  runtime::status may_tell_tables(const std::string& job) const;
  // Returns the last checkpoint of a job that shards may have heard of. The next one is to have
  // a higher number.
  checkpoint_id last_checkpoint(const std::string& job) const;

 private:
  coordination::coordinator_state state_;
  std::optional<recorded_run> to_record_;  // of a run that begins
};

}  // namespace tidegate::policies
