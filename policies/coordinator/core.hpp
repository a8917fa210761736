// What the coordinator decides: who is a member, which tables exist and where their chunks
// live, when a job has begun, is done or has failed.
//
// Events come in as calls, effects are appended to `out`. Calls to shards are answered by
// call_done(); requests of nodes are answered through tickets that the shell chose, each
// exactly once. One thread; time is an argument (unix nanoseconds). The work is done by the
// parts that coordinator_state holds; this class hands each event to the part that owns it.
//
// What others are told is in the journal before (coordinator_effects::records), so that another
// process can go on with the same decisions: shards and aggregators join it again, it asks of
// them again what the process before may have asked, and it answers `unavailable` to what it
// cannot answer until all are in, which is then asked again (retry_backoff.hpp).
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
  // `before`: of the processes before this one (decode_journal); what the run begins with is
  // then as it says, and not `from`. `incarnation`: counts the processes, from 1.
  coordinator_core(cluster_spec cluster, std::uint64_t token, restored_cluster from = {},
                   recorded_cluster before = {}, std::uint32_t incarnation = 1);
  // First of all calls, where there is a journal.
  void begin(std::int64_t now, coordinator_effects& out);

  // All return whether the process was taken in; if not, the answer says why.
  bool shard_joined(std::int64_t now, std::uint32_t index, std::string address,
                    ticket requester, coordinator_effects& out, group_member member = {});
  // Where shards move: a process of a slot, which has these members of groups, of this
  // incarnation. Members join on their own.
  bool host_joined(std::int64_t now, shard_map::process process, std::uint32_t incarnation,
                   std::span<const hosted_member> has, ticket requester,
                   coordinator_effects& out);
  bool aggregator_joined(std::int64_t now, const std::string& job, std::uint32_t index,
                         std::string address, ticket requester, coordinator_effects& out,
                         std::uint32_t incarnation = 1);
  bool worker_joined(std::int64_t now, const worker_hello& hello, ticket requester,
                     coordinator_effects& out);
  // Creates or attaches.
  void open_table(const table_request& request, ticket requester, coordinator_effects& out);
  // `answer`: of calls that are answered with a number. `clocks`: of a sum_progress_call.
  void call_done(std::int64_t now, call_id call, const runtime::status& result,
                 coordinator_effects& out, std::uint64_t answer = 0,
                 std::span<const chunk_clock> clocks = {});

  // At its first clock(), after which a worker opens no more. A table that one worker of a bsp
  // or ssp job opened and another did not would wait for ever: the job fails and says so.
  void tables_opened(std::int64_t now, const std::string& job, std::uint32_t rank,
                     std::vector<std::uint32_t> tables, coordinator_effects& out);
  void progress(std::int64_t now, const std::string& job, std::uint32_t rank,
                const worker_progress& report, coordinator_effects& out);
  void checkpoint_begun(std::int64_t now, const std::string& job, checkpoint_id id,
                        coordinator_effects& out);
  void checkpoint_part(std::int64_t now, const checkpoint_report& report,
                       coordinator_effects& out);
  void checkpoint_written(std::int64_t now, const std::string& job, checkpoint_id id,
                          const runtime::status& result, coordinator_effects& out);
  // One more checkpoint is wanted, as soon as it can be: job_status::last_checkpoint says when
  // it is written.
  void want_last_checkpoint(const std::string& job);
  runtime::status metric(const std::string& job, const std::string& name, double value,
                         coordinator_effects& out);
  // `parameters_sha256`: from the one that hashes, else empty.
  void worker_finished(std::int64_t now, const std::string& job, std::uint32_t rank,
                       const worker_progress& last, const std::string& parameters_sha256,
                       coordinator_effects& out);
  // The first reason stands. A job that is done stays done.
  void fail_job(std::int64_t now, const std::string& job, const std::string& why,
                coordinator_effects& out);
  // A worker asks to be told when others take the places of those that it pushes to: at once
  // of those that have. A worker whose control connection broke asks again over the next one,
  // by which it is known to live.
  void moves_of(const std::string& job, std::uint32_t rank, std::uint32_t incarnation,
                coordinator_effects& out);
  // So many workers are wanted: ranks below may join while the job runs. Those from there on
  // are to leave, each by worker_leaves(). Errors: not_found, cancelled (it has ended),
  // over_limit, refused (aggregators are in the way).
  runtime::status scale(std::int64_t now, const std::string& job, std::uint32_t workers,
                        coordinator_effects& out);
  // So many slots of processes are to have the shards, which move while jobs run. Errors:
  // refused (they do not move in this cluster), over_limit, unavailable (not all have joined
  // yet).
  runtime::status scale_shards(std::int64_t now, std::uint32_t slots, coordinator_effects& out);
  // A worker has died, and its job goes on without it (worker_loss_rule::shrink). Answered when
  // all who must know do; refused when it is the last that has not finished.
  void worker_leaves(std::int64_t now, const std::string& job, std::uint32_t rank,
                     ticket requester, coordinator_effects& out);
  // Whether this worker, which has finished, is the one to hash the parameters: the first that
  // is left.
  bool is_to_hash(const std::string& job, std::uint32_t rank) const;
  // A member's actor is gone: noted, and not judged where nobody can take its place. Whoever
  // watches the processes decides what follows. Leaving after the end of one's job is no loss.
  // True: its place is another's now, and if it lives it is to end.
  bool shard_lost(std::int64_t now, std::uint32_t index, const std::string& why,
                  coordinator_effects& out, std::uint32_t member = 0);
  // A process of a slot is gone; of its members it is said one by one.
  void host_lost(shard_map::process process, std::uint32_t incarnation);
  // It has this member no more, which ended in order.
  void member_gone(std::int64_t now, const hosted_member& hosted, coordinator_effects& out);
  void aggregator_lost(std::int64_t now, const std::string& job, std::uint32_t index,
                       const std::string& why, coordinator_effects& out);
  void worker_lost(std::int64_t now, const std::string& job, std::uint32_t rank,
                   const std::string& why);

  // A member cannot reach these peers (reachability_judge). Who is condemned for it is in
  // status(), and the launcher kills it; all else follows from its death. So is a member, or a
  // process of a slot, that has not come back to the coordinator for as long.
  void unreachable(std::int64_t now, const std::string& reporter,
                   std::span<const unreachable_peer> peers);
  void out_of_reach(std::int64_t now, const std::string& address);
  void out_of_reach(std::int64_t now, shard_map::process process, std::uint32_t incarnation);
  // Looks who waits for whom, which status() and events tell from two seconds on. To be called
  // now and then, at least once a second.
  void look_at_waits(std::int64_t now);
  cluster_status status(std::int64_t now, std::uint64_t events_seen) const;
  // All tables of a job that are ready.
  std::vector<table_grant> tables(const std::string& job) const;
  // Errors: unavailable (some were ready before this process began, and are not yet again).
  runtime::status may_tell_tables(const std::string& job) const;
  // The last checkpoint of a job that shards may have heard of: the next has a higher number.
  checkpoint_id last_checkpoint(const std::string& job) const;

 private:
  coordination::coordinator_state state_;
  std::optional<recorded_run> to_record_;  // of a run that begins
};

}  // namespace tidegate::policies
