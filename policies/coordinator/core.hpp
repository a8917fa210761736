// What the coordinator decides: who is a member, which tables exist and where their chunks
// live, when a job has begun, is done or has failed.
//
// Calls to shards are answered by `call_done`; what nodes ask is answered through tickets that
// the shell chose, each exactly once. One thread; time is an argument (unix nanoseconds).
//
// What others are told is in the journal before (`records`), so that another process can go on
// with the same decisions: shards and aggregators join it again, it asks of them again what the
// one before may have asked, and it answers `unavailable` to what it cannot answer until all
// are in, which is then asked again (ask_again.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "policies/checkpoint/rounds.hpp"
#include "policies/coordinator/parts.hpp"
#include "policies/coordinator/record.hpp"
#include "policies/model/clock_vector.hpp"
#include "policies/model/cluster_status.hpp"
#include "policies/model/rank_progress.hpp"
#include "policies/model/spec.hpp"
#include "policies/placement/aggregation.hpp"
#include "policies/placement/placement.hpp"
#include "policies/placement/shard_group.hpp"
#include "policies/placement/shard_slots.hpp"
#include "policies/protocol/control_calls.hpp"
#include "policies/supervision/reachability_judge.hpp"
#include "policies/supervision/wait_ledger.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

struct coordinator_effects {
  // `aggregator_of`: a job, then `shard` is the number of its aggregator; else empty.
  struct call_shard {
    std::uint32_t shard = 0;
    call_id call = 0;
    shard_call message;
    std::string aggregator_of;
    std::uint32_t member = 0;  // of the shard's group
  };
  // To a worker of the job, or one of its aggregators.
  struct tell_moved {
    std::string job;
    std::uint32_t index = 0;  // rank
    bool aggregates = false;
    shard_moved message;
  };
  struct answer {
    ticket to = 0;
    runtime::status result;
    std::variant<std::monostate, worker_welcome, table_grant> value;
  };
  // A name for the next checkpoint of this job; checkpoint_begun() follows, before anything
  // else.
  struct begin_checkpoint {
    std::string job;
  };
  // Its parts are durable: write this, then tell checkpoint_written().
  struct write_manifest {
    checkpoint_manifest manifest;
    std::uint32_t keep = 1;
  };
  // A process of a slot is to have these members of groups, too.
  struct host {
    shard_slots::process process;
    host_call message;
  };
  // This member of a shard's group is to end, in order.
  struct retire {
    std::uint32_t shard = 0;
    std::uint32_t member = 0;
  };
  // Durable before the rest is carried out, and before the next effects are.
  std::vector<coordinator_record> records;
  std::vector<call_shard> calls;
  std::vector<tell_moved> moves;
  std::vector<answer> answers;
  std::vector<begin_checkpoint> checkpoints;
  std::vector<write_manifest> manifests;
  std::vector<host> hosts;
  std::vector<retire> retirements;
  std::vector<shard_slots::process> idle;  // have nothing any more, and are to end
};

class coordinator_core : private coordinator_parts {
 public:
  // `before`: of the processes before this one (decode_journal); what the run begins with is
  // then as it says, and not `from`. `life`: counts the processes, from 1.
  coordinator_core(cluster_spec cluster, std::uint64_t token, restored_cluster from = {},
                   recorded_cluster before = {}, std::uint32_t life = 1);
  // First of all calls, where there is a journal.
  void begin(std::int64_t now, coordinator_effects& out);

  // All return whether the process was taken in; if not, the answer says why.
  bool shard_joined(std::int64_t now, std::uint32_t index, std::string address,
                    ticket requester, coordinator_effects& out, group_member member = {});
  // Where shards move: a process of a slot, which has these members of groups, in its `life`-th
  // life. Members join on their own.
  bool host_joined(std::int64_t now, shard_slots::process process, std::uint32_t life,
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
  void host_lost(shard_slots::process process, std::uint32_t life);
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
  void out_of_reach(std::int64_t now, shard_slots::process process, std::uint32_t life);
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
  job_record* find(const std::string& name);
  const job_record* find(const std::string& name) const;
  bool all_in() const;
  // A job has ended: the others need not wait for its aggregators.
  void begin_without(bool were_in, std::int64_t now, coordinator_effects& out);
  void all_joined(std::int64_t now, coordinator_effects& out);
  void open_job(std::size_t index, coordinator_effects& out);
  void open_aggregators(group_id group, std::size_t job, coordinator_effects& out);
  void admit_nodes(group_id group, callee above, std::uint32_t aggregator,
                   coordinator_effects& out);
  open_job_call job_call(const job_record& job) const;
  // Where a sum, or a worker's own pushes, go: to one aggregator or all processes of shards.
  std::vector<callee> upstream_of(std::uint32_t aggregator) const;
  std::vector<callee> members_of(std::uint32_t shard) const;
  callee primary_of(std::uint32_t shard) const {
    return {shard, false, groups_of_[shard].primary()};
  }
  std::vector<std::uint64_t> epochs_of(const job_record& job, std::uint32_t aggregator) const;
  std::uint64_t epoch_of(const aggregator_state& aggregator) const;
  // Aggregators in the places of others, coordinator_set_up.cpp.
  static bool all_ready(const job_record& job);
  void set_up_aggregators(std::size_t job, coordinator_effects& out);
  void make_known_upstream(std::size_t job, std::uint32_t at, coordinator_effects& out);
  // Whether the process that was to be let in has another in its place by now.
  static bool is_replaced(const job_record& job, const shard_call& content);
  void tell_aggregator(const call_group& known, std::uint32_t at, coordinator_effects& out);
  void admit_members(group_id group, std::uint32_t at, coordinator_effects& out);
  void aggregator_told(std::int64_t now, const call_group& done,
                       const aggregator_set_up& set_up, coordinator_effects& out);
  void tell_members(const job_record& job, std::uint32_t at, coordinator_effects& out) const;
  void tell_finished(const job_record& job, std::uint32_t rank, coordinator_effects& out);
  // Groups of replicas, coordinator_groups.cpp.
  void pair_up(coordinator_effects& out);
  void pair_up(std::uint32_t shard, coordinator_effects& out);
  void member_left(std::int64_t now, callee recipient, const std::string& why,
                   coordinator_effects& out);
  void forget_parts(std::int64_t now, std::uint32_t shard, coordinator_effects& out);
  // `job`: of an aggregator.
  // The connection to this process broke and is there again: what it has not answered may not
  // have come there, or its answer was lost. Every call may come twice.
  void repeat_calls(std::int64_t now, std::size_t job, callee to, coordinator_effects& out);
  void answer_for_the_dead(std::int64_t now, std::size_t job, callee recipient,
                           coordinator_effects& out);
  void admit_again(const call_group& before, coordinator_effects& out);
  void lead_nobody(std::uint32_t shard, std::uint32_t at, coordinator_effects& out);
  void link(std::uint32_t shard, std::uint32_t at, bool holds_up, coordinator_effects& out);
  void linked(std::int64_t now, const call_group& done, coordinator_effects& out);
  bool welcome_replica(std::uint32_t shard, coordinator_effects& out);
  void set_up_replica(std::uint32_t shard, coordinator_effects& out);
  callee in_chain(std::uint32_t shard, std::size_t at) const {
    return {shard, false, groups_of_[shard].chain()[at].member};
  }
  std::string name_of(callee member) const;
  // Of its slot, or where nothing moves of its group: `shard-Q`, not a replica.
  bool is_first(std::uint32_t shard, std::uint32_t member) const {
    return slots_.shards() > 0 ? slots_.process_of(shard, member).place == 0 : member == 0;
  }
  // Shards that move, coordinator_slots.cpp.
  bool takes_process(shard_slots::process process, std::uint32_t life, ticket requester,
                     coordinator_effects& out);
  void forget_members(std::int64_t now, shard_slots::process process, bool is_new,
                      std::span<const hosted_member> has, coordinator_effects& out);
  void move_on(std::uint32_t shard, coordinator_effects& out);
  void ask_to_host(std::uint32_t shard, coordinator_effects& out);
  void end_idle(coordinator_effects& out);
  void note_moved(std::int64_t now, std::uint32_t shard);
  std::string place_of(std::uint32_t shard, std::uint32_t member) const;
  void record_slots(coordinator_effects& out) const;
  void go_on_with(const std::optional<recorded_slots>& before);
  void stage_for_replica(std::vector<staged_call>& calls, std::size_t job,
                         callee recipient) const;
  void promote(std::uint32_t shard, coordinator_effects& out);
  void promoted(std::int64_t now, const promotion& promoted, const runtime::status& result,
                coordinator_effects& out);
  void tell_moved(std::uint32_t shard, coordinator_effects& out) const;
  // Tells `listener`, who pushes to this aggregator or to shards, of all that have moved there.
  void moves_above(const job_record& job, std::uint32_t aggregator,
                   coordinator_effects::tell_moved listener, coordinator_effects& out) const;
  void admit_late(coordinator_effects& out);
  shard_moved move_of(std::uint32_t shard) const;
  std::vector<std::string> addresses_of(const job_record& job, std::uint32_t aggregator) const;
  open_table_call call_of(const table_state& table) const;
  void stage_tables(const job_record& job, const open_table_call& call, group_id group);
  open_job_call call_of(const job_record& job, std::uint32_t aggregator) const;
  bool may_admit(const worker_hello& hello);
  void change_roster(std::int64_t now, job_record& job, std::uint32_t rank, std::uint64_t clock,
                     bool joins, coordinator_effects& out);
  static void note_change(job_record& job, const roster_change& change);
  // Workers that leave, coordinator_leaving.cpp.
  void let_leave(coordinator_effects& out);
  void ask_of_sums(const job_record& job, std::uint32_t rank,
                   std::vector<std::vector<staged_call>>& later) const;
  void shut_out(std::int64_t now, const call_group& done, std::uint32_t rank,
                coordinator_effects& out);
  // That this rank has left is on its way to the shards.
  bool shards_hear_of(std::size_t job, std::uint32_t rank) const;
  void tell_left(std::size_t job, std::uint32_t rank, std::vector<ticket> waiting,
                 coordinator_effects& out);
  void left_told(std::int64_t now, const call_group& done, coordinator_effects& out);
  // Workers that join, coordinator_joining.cpp.
  void begin_joining(const worker_hello& hello, ticket requester, coordinator_effects& out);
  void ask_to_hold(std::size_t job, joining join, std::vector<ticket> waiting,
                   coordinator_effects& out);
  void let_go_of(const job_record& job, coordinator_effects& out);
  void held(std::int64_t now, const call_group& done, coordinator_effects& out);
  void joined(const call_group& done, coordinator_effects& out);
  void maybe_ended(std::int64_t now, job_record& job, coordinator_effects& out);
  void admit_early(coordinator_effects& out);
  void admit(const worker_hello& hello, ticket requester, coordinator_effects& out);
  void call_for(group_id group, const worker_hello& hello, coordinator_effects& out);
  void create_tables(std::size_t job, std::vector<table_spec> specs, ticket requester,
                     coordinator_effects& out);
  std::vector<std::uint32_t> add_tables(std::size_t job, const std::vector<table_spec>& specs);
  void open_at_shards(std::uint32_t table, ticket requester, coordinator_effects& out);
  static std::vector<table_spec> first_tables(const job_record& job);
  std::set<std::uint32_t> holders_of(std::size_t job) const;
  // Those that some worker has opened: the others nobody pushes to.
  std::vector<std::uint32_t> opened_tables(std::size_t job) const;
  std::vector<std::uint32_t> tables_of(const job_record& job, std::uint32_t rank) const;
  void carry_out(std::int64_t now, std::size_t job, const checkpoint_effects& effects,
                 coordinator_effects& out);
  static std::vector<std::uint32_t> left_out_of_sums(const job_record& job);
  checkpoint_manifest manifest_of(std::size_t job, const checkpoint_effects::write& step) const;
  void all_finished(std::int64_t now, std::size_t job, coordinator_effects& out);
  void round_ended(std::int64_t now, job_record& job, const checkpoint_effects::ended& ended,
                   coordinator_effects& out);
  void done(std::int64_t now, job_record& job, coordinator_effects& out);
  group_id make_group(std::size_t job, ticket requester);
  void call(group_id group, callee recipient, shard_call call, coordinator_effects& out);
  void close(std::int64_t now, call_group& done, coordinator_effects& out);
  worker_welcome welcome(const job_record& of, std::uint32_t rank,
                         std::uint64_t first_clock) const;
  void admitted(std::int64_t now, const call_group& done, const worker_hello& hello,
                coordinator_effects& out);
  void close_below(const job_record& job, coordinator_effects& out);
  // Whether it is or was of the job.
  static bool has_been(const worker_state& worker) {
    return !worker.absent || worker.left.has_value();
  }
  static void sum_up(const job_record& job, job_status& shown);
  // Waits and outages, coordinator_waits.cpp.
  struct living_member {
    process_name name;  // as the launcher knows its process
    std::uint32_t incarnation = 0;
    loss_cost cost = loss_cost::worker;
  };
  std::optional<living_member> member_at(const std::string& address) const;
  living_member shard_member(std::uint32_t shard, std::uint32_t member) const;
  loss_cost cost_of_all() const;
  loss_cost cost_of_member(std::uint32_t shard, std::uint32_t member) const;
  void condemn(std::int64_t now, const process_name& name, std::uint32_t incarnation,
               const std::string& reason);
  void add_outages(std::int64_t now, std::vector<wait_ledger::wait>& found) const;
  void add_calls(std::vector<wait_ledger::wait>& found) const;
  void add_absences(std::vector<wait_ledger::wait>& found) const;
  static void add_slowest(const job_record& job, std::vector<wait_ledger::wait>& found);
  void event(std::int64_t now, std::string subject, std::string detail);
  static void refuse(ticket requester, runtime::errc code, std::string why,
                     coordinator_effects& out);
  runtime::status check_worker(const worker_hello& hello);
  // The journal, coordinator_journal.cpp.
  void go_on(const recorded_cluster& before);
  static void record(const job_record& job, coordinator_effects& out);
  static void record(const job_record& job, std::uint32_t rank, coordinator_effects& out);
  void record_group(std::uint32_t shard, coordinator_effects& out) const;

  cluster_spec cluster_;
  std::uint32_t epoch_ = 1;
  std::uint32_t life_ = 1;
  bool goes_on_ = false;                   // with what is in the journal
  bool begun_ = false;                     // all have joined once
  std::optional<recorded_run> to_record_;  // of a run that begins
  std::uint32_t tables_recorded_ = 0;      // sets of them
  placement placement_;
  std::vector<shard_group> groups_of_;  // by shard
  shard_slots slots_;                   // of no shards: they do not move
  std::map<shard_slots::process, slot_process> processes_;
  // Members that processes have, or have been asked to have: which incarnation.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> hosted_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> retiring_;
  std::set<std::uint32_t> on_the_move_;  // shards
  std::set<std::uint32_t> moving_;       // shards whose replica is being promoted
  std::uint32_t linking_ = 0;            // pairs of neighbours, new_replica::holds_up
  std::vector<call_group> late_;         // admissions that wait for others, to begin anew
  std::vector<job_record> jobs_;
  std::vector<table_state> tables_;                                         // by id
  std::map<std::pair<std::size_t, std::string>, std::uint32_t> table_ids_;  // by job and name
  std::map<group_id, call_group> groups_;
  std::map<call_id, call_made> calls_;
  std::map<call_id, asked_part> asked_;
  std::vector<std::pair<worker_hello, ticket>> early_workers_;  // came before the rest
  std::vector<call_group> leaving_;                             // workers, that wait for others
  std::uint64_t last_id_ = 0;
  std::vector<cluster_event> events_;
  reachability_judge judge_;
  std::vector<condemned_process> condemned_;
  wait_ledger waits_;
};

}  // namespace tidegate::policies
