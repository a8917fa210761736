#include "actors/coordinator.hpp"

#include <utility>
#include <variant>

#include "actors/ask_coordinator.hpp"
#include "actors/coordinator_state.hpp"
#include "actors/stand_in.hpp"
#include "runtime/base/log.hpp"

namespace tidegate::actors {

namespace {

namespace log = runtime::log;
using policies::coordinator_effects;
using policies::ticket;
using runtime::errc;
using runtime::status;

}  // namespace

template <class T>
bool coordinator::deliver(promises<T>& waiting, coordinator_effects::answer& answer) {
  const auto at = waiting.find(answer.to);
  if (at == waiting.end()) return false;
  auto promise = at->second;
  waiting.erase(at);
  if (!answer.result.ok()) {
    promise.deliver(to_error(answer.result));
  } else if constexpr (std::is_same_v<T, done_atom>) {
    promise.deliver(done_atom::value);
  } else {
    promise.deliver(std::get<T>(std::move(answer.value)));
  }
  return true;
}

void coordinator::refuse_all() {
  const auto why = to_error({errc::unavailable, "the coordinator has ended"});
  for (auto& [id, promise] : std::exchange(shard_promises_, {})) promise.deliver(why);
  for (auto& [id, promise] : std::exchange(worker_promises_, {})) promise.deliver(why);
  for (auto& [id, promise] : std::exchange(table_promises_, {})) promise.deliver(why);
}

bool coordinator::is_out() {
  const auto& from = current_sender();
  return from && out_.contains(from->node());
}

caf::error coordinator::stranger() {
  if (is_out()) return to_error(out_.at(current_sender()->node()));
  return to_error({errc::refused, "this process belongs to another run (TIDEGATE_TOKEN)"});
}

// Processes of this rank that were let in before. Mostly they are dead; one that was given up
// because it hung, and wakes where nobody could end it, must not speak for its rank any more.
void coordinator::put_out(const policies::worker_hello& successor) {
  const auto why = replaced(successor.rank, successor.incarnation);
  for (const auto& [address, what] : members_) {
    const bool same = !what.aggregates && what.job == successor.job && !what.job.empty() &&
                      what.index == successor.rank;
    if (!same || address.node() == system().node()) continue;  // tests are one process
    out_.insert_or_assign(address.node(), why);
    if (const auto who = caf::actor_cast<caf::actor>(address)) send_exit(who, to_error(why));
  }
}

void coordinator::watch(const caf::actor& who, member what) {
  out_.erase(who.node());  // a pid that is another process's by now
  monitor(who);
  members_[who.address()] = std::move(what);
}

void coordinator::call_shard(coordinator_effects::call_shard& what) {
  const auto call = what.call;
  const shard_name name{what.aggregator_of, what.shard, what.member};
  const auto& shard = shards_.at(name);
  const auto succeeded = [this, call](std::uint64_t answer) {
    core_.call_done(unix_now(), call, {}, effects_, answer);
    carry_out();
  };
  const auto told = [this, call](const chunk_clocks& clocks) {
    core_.call_done(unix_now(), call, {}, effects_, 0, clocks);
    carry_out();
  };
  const auto failed = [this, call, name](const caf::error& why) {
    const auto callee = std::get<0>(name).empty() ? "shard " : "aggregator ";
    core_.call_done(unix_now(), call,
                    to_status(why, "a call to " + (callee + std::to_string(std::get<1>(name)))),
                    effects_);
    carry_out();
  };
  std::visit(
      [&](const auto& content) {
        using call_type = std::decay_t<decltype(content)>;
        // A table may be large, and a replica is handed everything before it answers: a call
        // ends with its answer or with the process, and is repeated over another connection.
        auto asked = request(shard, no_limit, content);
        if constexpr (std::is_same_v<call_type, policies::sum_progress_call>)
          asked.then(told, failed);
        else if constexpr (std::is_same_v<call_type, policies::admit_worker_call> ||
                           std::is_same_v<call_type, policies::shut_out_call> ||
                           std::is_same_v<call_type, policies::hold_call> ||
                           std::is_same_v<call_type, policies::checkpoint_call>)
          asked.then(succeeded, failed);
        else
          asked.then([succeeded](done_atom) { succeeded(0); }, failed);
      },
      what.what);
}

bool coordinator::keep(const std::vector<policies::coordinator_record>& records) {
  const auto written = journal_->write(records);
  if (written.ok()) return true;
  log::error("the journal cannot be written: " + written.to_string());
  has_ended_ = true;
  quit(to_error(written));
  return false;
}

caf::result<done_atom> coordinator::done() const {
  if (has_ended_) return to_error({errc::unavailable, "the coordinator has ended"});
  return done_atom::value;
}

void coordinator::carry_out() {
  // A delivery leads to no new effects; names and manifests of checkpoints do.
  auto effects = std::exchange(effects_, {});
  if (!keep(effects.records)) return;
  for (const auto& one : effects.checkpoints)
    core_.checkpoint_begun(unix_now(), one.job, keeper_->begin(one.job), effects_);
  for (const auto& one : effects.manifests)
    core_.checkpoint_written(unix_now(), one.manifest.job, one.manifest.id, keeper_->write(one),
                             effects_);
  for (auto& call : effects.calls) call_shard(call);
  for (const auto& one : effects.moves) tell_moved(one);
  tell_slots(effects);
  for (auto& answer : effects.answers)
    if (!deliver(shard_promises_, answer) && !deliver(worker_promises_, answer))
      deliver(table_promises_, answer);
  if (!effects_.records.empty() || !effects_.calls.empty() || !effects_.moves.empty() ||
      !effects_.checkpoints.empty() || !effects_.manifests.empty() || !effects_.hosts.empty() ||
      !effects_.retirements.empty() || !effects_.idle.empty())
    carry_out();
}

caf::result<done_atom> coordinator::join_shard(std::uint32_t index,
                                               policies::group_member in_group,
                                               const std::string& address,
                                               const caf::actor& who) {
  auto [id, answer] = promise(shard_promises_);
  if (core_.shard_joined(unix_now(), index, address, id, effects_, in_group)) {
    // Of one before it nothing is heard any more.
    std::erase_if(members_, [&](const auto& one) {
      const auto& before = one.second;
      return before.is_shard && before.index == index && before.in_group == in_group.number;
    });
    shards_.insert_or_assign(shard_name("", index, in_group.number),
                             caf::actor_cast<shard_actor>(who));
    watch(who, {.job = "",
                .index = index,
                .in_group = in_group.number,
                .is_shard = true,
                .incarnation = in_group.incarnation,
                .address = address});
  }
  carry_out();
  return answer;
}

caf::result<done_atom> coordinator::join_aggregator(const std::string& job, std::uint32_t index,
                                                    std::uint32_t incarnation,
                                                    const std::string& address,
                                                    const caf::actor& who) {
  auto [id, answer] = promise(shard_promises_);
  if (core_.aggregator_joined(unix_now(), job, index, address, id, effects_, incarnation)) {
    // Of one before it nothing is heard any more.
    std::erase_if(members_, [&](const auto& one) {
      return one.second.aggregates && one.second.job == job && one.second.index == index;
    });
    shards_.insert_or_assign(shard_name(job, index, 0), caf::actor_cast<shard_actor>(who));
    watch(who, {.job = job,
                .index = index,
                .aggregates = true,
                .incarnation = incarnation,
                .address = address});
  }
  carry_out();
  return answer;
}

caf::result<policies::worker_welcome> coordinator::join_worker(
    const policies::worker_hello& hello, const caf::actor& who) {
  auto [id, answer] = promise(worker_promises_);
  if (core_.worker_joined(unix_now(), hello, id, effects_)) {
    put_out(hello);
    watch(who, {.job = hello.job,
                .index = hello.rank,
                .incarnation = hello.incarnation,
                .address = hello.address});
  }
  carry_out();
  return answer;
}

caf::result<policies::table_grant> coordinator::open_table(
    const policies::table_request& asked) {
  auto [id, answer] = promise(table_promises_);
  core_.open_table(asked, id, effects_);
  carry_out();
  return answer;
}

caf::result<done_atom> coordinator::take_tables(const std::string& job, std::uint32_t rank,
                                                const std::vector<std::uint32_t>& tables) {
  core_.tables_opened(unix_now(), job, rank, tables, effects_);
  carry_out();
  return done();
}

caf::result<done_atom> coordinator::take_metric(const std::string& job,
                                                const std::string& metric, double value) {
  auto taken = core_.metric(job, metric, value, effects_);
  if (!taken.ok()) return to_error(taken);
  carry_out();
  return done();
}

void coordinator::take_progress(const std::string& job, std::uint32_t rank,
                                const policies::worker_progress& report) {
  core_.progress(unix_now(), job, rank, report, effects_);
  carry_out();
}

caf::result<grants> coordinator::take_finished(const std::string& job, std::uint32_t rank,
                                               const policies::worker_progress& last,
                                               const std::string& sha256) {
  if (sha256.empty() && core_.is_to_hash(job, rank)) {
    if (auto may = core_.may_tell_tables(job); !may.ok()) return to_error(may);
    if (auto tables = core_.tables(job); !tables.empty()) return tables;
  }
  core_.worker_finished(unix_now(), job, rank, last, sha256, effects_);
  carry_out();
  if (has_ended_) return to_error({errc::unavailable, "the coordinator has ended"});
  return grants();
}

caf::result<done_atom> coordinator::scale(std::uint64_t token, const std::string& job,
                                          std::uint32_t workers) {
  if (!known(token)) return stranger();
  const auto result = core_.scale(unix_now(), job, workers, effects_);
  if (!result.ok()) return to_error(result);
  carry_out();
  return done();
}

caf::result<done_atom> coordinator::let_leave(std::uint64_t token, const std::string& job,
                                              std::uint32_t rank) {
  if (!known(token)) return stranger();
  auto [id, answer] = promise(shard_promises_);
  core_.worker_leaves(unix_now(), job, rank, id, effects_);
  carry_out();
  return answer;
}

void coordinator::take_part(const policies::checkpoint_report& report) {
  core_.checkpoint_part(unix_now(), report, effects_);
  carry_out();
}

caf::result<done_atom> coordinator::fail_job(const std::string& job, const std::string& why) {
  log::error("job " + job + " failed: " + why);
  core_.fail_job(unix_now(), job, why, effects_);
  carry_out();
  return done();
}

caf::result<done_atom> coordinator::save(std::uint64_t token, const std::string& job) {
  if (!known(token)) return stranger();
  core_.want_last_checkpoint(job);
  return done();
}

caf::result<policies::cluster_status> coordinator::status(std::uint64_t token,
                                                          std::uint64_t seen) {
  if (!known(token)) return stranger();
  core_.look_at_waits(unix_now());
  return core_.status(unix_now(), seen);
}

caf::result<done_atom> coordinator::stop() {
  for (auto& [name, shard] : shards_) send(shard, stop_atom::value);
  for (auto& [which, known] : hosts_) send(known.who, stop_atom::value);
  quit();
  return done_atom::value;
}

void coordinator::on_down(const caf::down_msg& down) {
  for (const auto& [which, known] : hosts_)
    if (known.who.address() == down.source) {
      core_.host_lost(which, known.life);
      send(known.who, stop_atom::value);  // it may not know, as below
    }
  const auto lost = members_.find(down.source);
  if (lost == members_.end()) return;
  const auto why = system().render(down.reason);
  const bool broke = down.reason == caf::exit_reason::remote_link_unreachable;
  if (!broke || !may_return(lost->second)) return lose(lost, why);
  lost->second.cut_since = runtime::steady_now();
  look_soon();
}

// Not one that hung and wakes when another has taken its place.
void coordinator::tell_of_moves(const std::string& job, std::uint32_t rank,
                                std::uint32_t incarnation, const caf::actor& who) {
  auto& [latest, whom] = told_[{job, rank}];
  if (incarnation < latest) return;
  latest = incarnation;
  whom = who;
  core_.moves_of(job, rank, effects_);
  carry_out();
}

// To one that is gone, or has not asked for it yet, it goes unheard.
void coordinator::tell_moved(const coordinator_effects::tell_moved& what) {
  if (what.aggregates) {
    const auto at = shards_.find(shard_name(what.job, what.index, 0));
    if (at != shards_.end()) send(at->second, what.what);
    return;
  }
  const auto at = told_.find({what.job, what.index});
  if (at != told_.end()) send(caf::actor_cast<worker_actor>(at->second.second), what.what);
}

coordinator_actor spawn_coordinator(caf::actor_system& system,
                                    const policies::cluster_spec& cluster, std::uint64_t token,
                                    checkpoint_keeper keeper, kept_journal journal,
                                    std::uint32_t life) {
  return system.spawn<coordinator>(cluster, token,
                                   std::make_shared<checkpoint_keeper>(std::move(keeper)),
                                   std::make_shared<kept_journal>(std::move(journal)), life);
}

}  // namespace tidegate::actors
