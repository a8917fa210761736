// What the coordinator actor hears, and from whom.
#include "actors/coordinator_state.hpp"

namespace tidegate::actors {

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using answer = caf::result<done_atom>;
using policies::hosted_member;
using std::string;

}  // namespace

void coordinator::begin() {
  set_down_handler([this](const caf::down_msg& down) { on_down(down); });
  core_.begin(unix_now(), effects_);
  carry_out();
}

coordinator::behavior_type coordinator::make_behavior() {
  begin();
  return {
      [this](shard_atom, u64 token, u32 index, u32 number, u32 incarnation,
             const string& address, const caf::actor& who) -> answer {
        return of_run(token) ? join_shard(index, {number, incarnation}, address, who)
                             : answer(stranger());
      },
      [this](host_atom, u64 token, u32 slot, u32 place, u32 life, const hosted_members& has,
             const caf::actor& who) {
        return join_host(token, {slot, place}, life, has, who);
      },
      [this](gone_atom, u64 token, const hosted_member& which) { member_gone(token, which); },
      [this](gone_atom, u64 token, u32 role, const string& job, u32 index, u32 incarnation) {
        return process_ended(token, role, {.job = job, .index = index}, incarnation);
      },
      [this](unreachable_atom, u64 token, const string& reporter,
             const unreachable_peers& peers) { unreachable(token, reporter, peers); },
      [this](look_atom) { look(); },
      [this](moves_atom, u64 token, const string& job, u32 rank, u32 incarnation,
             const caf::actor& who) {
        if (of_run(token)) tell_of_moves(job, rank, incarnation, who);
      },
      [this](aggregator_atom, u64 token, const string& job, u32 index, u32 incarnation,
             const string& address, const caf::actor& who) -> caf::result<done_atom> {
        if (!of_run(token)) return stranger();
        return join_aggregator(job, index, incarnation, address, who);
      },
      [this](worker_atom, u64 token, const policies::worker_hello& hello,
             const caf::actor& who) -> caf::result<policies::worker_welcome> {
        if (!of_run(token)) return stranger();
        return join_worker(hello, who);
      },
      [this](table_atom, u64 token,
             const policies::table_request& asked) -> caf::result<policies::table_grant> {
        return heard(token, [&] { return open_table(asked); });
      },
      [this](progress_atom, u64 token, const string& job, u32 rank,
             const policies::worker_progress& report) {
        if (known(token)) take_progress(job, rank, report);
      },
      [this](opened_atom, u64 token, const string& job, u32 rank,
             const std::vector<u32>& tables) -> caf::result<done_atom> {
        return heard(token, [&] { return take_tables(job, rank, tables); });
      },
      [this](metric_atom, u64 token, const string& job, const string& metric,
             double value) -> caf::result<done_atom> {
        return heard(token, [&] { return take_metric(job, metric, value); });
      },
      [this](finished_atom, u64 token, const string& job, u32 rank,
             const policies::worker_progress& last,
             const string& sha256) -> caf::result<grants> {
        return heard(token, [&] { return take_finished(job, rank, last, sha256); });
      },
      [this](leave_atom, u64 token, const string& job, u32 rank) {
        return let_leave(token, job, rank);
      },
      [this](scale_atom, u64 token, const string& job, u32 n) { return scale(token, job, n); },
      [this](scale_atom, u64 token, u32 slots) { return scale_shards(token, slots); },
      [this](save_atom, u64 token, const string& job) { return save(token, job); },
      [this](part_atom, u64 token, const policies::checkpoint_report& report) {
        if (known(token)) take_part(report);
      },
      [this](fail_atom, u64 token, const string& job, const string& why) -> answer {
        return heard(token, [&] { return fail_job(job, why); });
      },
      [this](status_atom, u64 token, u64 seen) { return status(token, seen); },
      [this](stop_atom, u64 token) { return heard(token, [&] { return stop(); }); },
  };
}

}  // namespace tidegate::actors
