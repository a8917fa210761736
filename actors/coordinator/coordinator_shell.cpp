#include "actors/coordinator/coordinator_shell.hpp"

#include <utility>

#include "policies/model/millisecond.hpp"

namespace tidegate::actors {

namespace {

using policies::process_role;
using runtime::errc;
using runtime::status;

// Returns the answer to a worker whose place another has: `refused`, and a text to show.
status replaced(std::uint32_t rank, std::uint32_t incarnation) {
  return {errc::refused, "another process has taken the place of this worker (rank " +
                             std::to_string(rank) + ", now incarnation " +
                             std::to_string(incarnation) + ")"};
}

}  // namespace

coordinator_shell::coordinator_shell(const policies::cluster_spec& cluster, std::uint64_t token,
                                     control_port& port, coordinator_storage& storage,
                                     policies::recorded_cluster before,
                                     std::uint32_t incarnation)
    : port_(port),
      storage_(storage),
      core_(cluster, token, storage.found(), std::move(before), incarnation),
      senders_(token),
      watch_(
          *this, port,
          {.shards = cluster.shards,
           .moves_shards = cluster.slots > 0,
           .absent_most_ns = cluster.supervision.unreachable_ms * policies::millisecond / 2}),
      turns_(*this, storage) {
  for (const auto& job : cluster.jobs)
    if (job.checkpoint) storage_.begin_after(job.name, core_.last_checkpoint(job.name));
}

void coordinator_shell::begin() {
  core_.begin(port_.unix_now(), effects_);
  carry_out();
}

runtime::status coordinator_shell::ended() {
  return {errc::unavailable, "the coordinator has ended"};
}

void coordinator_shell::close() {
  senders_.close(ended());
  turns_.end();
  replies_.refuse_all(ended());
  turns_.refuse_all(ended());
}

void coordinator_shell::end(const runtime::status& why) {
  senders_.close(ended());
  turns_.end();
  port_.end(why);
  close();
}

void coordinator_shell::journal_failed(const runtime::status& why) {
  port_.log_error("the journal cannot be written: " + why.to_string());
  end(why);
}

bool coordinator_shell::refuses(const runtime::status& checked, const reply_to& reply) {
  if (!checked.ok()) reply({checked, {}});
  return !checked.ok();
}

void coordinator_shell::add(control_member joined) {
  senders_.joins(joined.peer.process);  // a pid that is another process's by now
  const auto rank = joined.index;
  const auto incarnation = joined.incarnation;
  const auto process = joined.peer.process;
  const bool works = joined.role == process_role::worker;
  const auto former = watch_.add(std::move(joined));
  if (!works) return;
  // Processes of this rank are mostly dead. A process that was given up because it hung, and
  // wakes where nobody could end it, must not speak for its rank any more.
  const auto why = replaced(rank, incarnation);
  for (const auto& member : former) {
    if (member.peer.process == process || member.peer.process == 0) continue;
    senders_.put_out(member.peer.process, why);
    port_.expel(member.peer, why);
  }
}

void coordinator_shell::shard_joined(const control_sender& from, std::uint32_t index,
                                     policies::group_member in_group,
                                     const std::string& address, const control_peer& peer,
                                     reply_to reply) {
  if (refuses(senders_.check_token(from), reply)) return;
  const auto id = replies_.wait(std::move(reply));
  if (core_.shard_joined(port_.unix_now(), index, address, id, effects_, in_group)) {
    receivers_.keep_callee({"", index, in_group.number}, peer);
    add({.role = process_role::shard,
         .job = "",
         .index = index,
         .in_group = in_group.number,
         .incarnation = in_group.incarnation,
         .address = address,
         .peer = peer});
  }
  carry_out();
}

void coordinator_shell::aggregator_joined(const control_sender& from, const std::string& job,
                                          std::uint32_t index, std::uint32_t incarnation,
                                          const std::string& address, const control_peer& peer,
                                          reply_to reply) {
  if (refuses(senders_.check_token(from), reply)) return;
  const auto id = replies_.wait(std::move(reply));
  if (core_.aggregator_joined(port_.unix_now(), job, index, address, id, effects_,
                              incarnation)) {
    receivers_.keep_callee({job, index, 0}, peer);
    add({.role = process_role::aggregator,
         .job = job,
         .index = index,
         .incarnation = incarnation,
         .address = address,
         .peer = peer});
  }
  carry_out();
}

void coordinator_shell::worker_joined(const control_sender& from,
                                      const policies::worker_hello& hello,
                                      const control_peer& peer, reply_to reply) {
  if (refuses(senders_.check_token(from), reply)) return;
  const auto id = replies_.wait(std::move(reply));
  if (core_.worker_joined(port_.unix_now(), hello, id, effects_))
    add({.role = process_role::worker,
         .job = hello.job,
         .index = hello.rank,
         .incarnation = hello.incarnation,
         .address = hello.address,
         .peer = peer});
  carry_out();
}

void coordinator_shell::host_joined(const control_sender& from,
                                    policies::shard_map::process slot,
                                    std::uint32_t incarnation,
                                    const std::vector<policies::hosted_member>& has,
                                    const control_peer& peer, reply_to reply) {
  if (refuses(senders_.check_token(from), reply)) return;
  const auto id = replies_.wait(std::move(reply));
  if (core_.host_joined(port_.unix_now(), slot, incarnation, has, id, effects_))
    watch_.add_host(slot, incarnation, peer);
  carry_out();
}

void coordinator_shell::member_gone(const control_sender& from,
                                    const policies::hosted_member& member) {
  if (!senders_.check_token(from).ok()) return;
  core_.member_gone(port_.unix_now(), member, effects_);
  carry_out();
}

void coordinator_shell::listen_for_moves(const control_sender& from, const std::string& job,
                                         std::uint32_t rank, std::uint32_t incarnation,
                                         const control_peer& peer) {
  if (!senders_.check_token(from).ok()) return;
  if (!receivers_.listen(job, rank, incarnation, peer)) return;
  core_.moves_of(job, rank, incarnation, effects_);
  carry_out();
}

void coordinator_shell::open_table(const control_sender& from,
                                   const policies::table_request& request, reply_to reply) {
  if (refuses(senders_.check(from), reply)) return;
  core_.open_table(request, replies_.wait(std::move(reply)), effects_);
  carry_out();
}

void coordinator_shell::tables_opened(const control_sender& from, const std::string& job,
                                      std::uint32_t rank,
                                      const std::vector<std::uint32_t>& tables,
                                      reply_to reply) {
  if (refuses(senders_.check(from), reply)) return;
  core_.tables_opened(port_.unix_now(), job, rank, tables, effects_);
  carry_out(std::move(reply));
}

void coordinator_shell::progress(const control_sender& from, const std::string& job,
                                 std::uint32_t rank, const policies::worker_progress& report) {
  if (!senders_.check(from).ok()) return;
  core_.progress(port_.unix_now(), job, rank, report, effects_);
  carry_out();
}

void coordinator_shell::arrivals(const control_sender& from, const std::string& reporter,
                                 const policies::shard_report& report) {
  if (senders_.check(from).ok()) core_.arrivals(port_.unix_now(), reporter, report);
}

void coordinator_shell::metric(const control_sender& from, const std::string& job,
                               const std::string& metric, double value, reply_to reply) {
  if (refuses(senders_.check(from), reply)) return;
  auto taken = core_.metric(job, metric, value, effects_);
  carry_out(std::move(reply), {std::move(taken), {}});
}

// A worker that is to hash the parameters gets all tables, and has not finished yet.
void coordinator_shell::finished(const control_sender& from, const std::string& job,
                                 std::uint32_t rank, const policies::worker_progress& last,
                                 const std::string& sha256, reply_to reply) {
  if (refuses(senders_.check(from), reply)) return;
  if (sha256.empty() && core_.is_to_hash(job, rank)) {
    if (auto may = core_.may_tell_tables(job); !may.ok())
      return carry_out(std::move(reply), {std::move(may), {}});
    if (auto tables = core_.tables(job); !tables.empty())
      return carry_out(std::move(reply), {{}, std::move(tables)});
  }
  core_.worker_finished(port_.unix_now(), job, rank, last, sha256, effects_);
  carry_out(std::move(reply));
}

void coordinator_shell::checkpoint_part(const control_sender& from,
                                        const policies::checkpoint_report& report) {
  if (!senders_.check(from).ok()) return;
  core_.checkpoint_part(port_.unix_now(), report, effects_);
  carry_out();
}

// The launcher learns from the status which process is condemned, and kills it.
void coordinator_shell::unreachable(const control_sender& from, const std::string& reporter,
                                    const std::vector<policies::unreachable_peer>& peers) {
  if (senders_.check(from).ok()) core_.unreachable(port_.unix_now(), reporter, peers);
}

void coordinator_shell::worker_leaves(const control_sender& from, const std::string& job,
                                      std::uint32_t rank, reply_to reply) {
  if (refuses(senders_.check(from), reply)) return;
  core_.worker_leaves(port_.unix_now(), job, rank, replies_.wait(std::move(reply)), effects_);
  carry_out();
}

void coordinator_shell::scale(const control_sender& from, const std::string& job,
                              std::uint32_t workers, reply_to reply) {
  if (refuses(senders_.check(from), reply)) return;
  auto scaled = core_.scale(port_.unix_now(), job, workers, effects_);
  carry_out(std::move(reply), {std::move(scaled), {}});
}

void coordinator_shell::scale_shards(const control_sender& from, std::uint32_t slots,
                                     reply_to reply) {
  if (refuses(senders_.check(from), reply)) return;
  auto scaled = core_.scale_shards(port_.unix_now(), slots, effects_);
  carry_out(std::move(reply), {std::move(scaled), {}});
}

void coordinator_shell::want_last_checkpoint(const control_sender& from, const std::string& job,
                                             reply_to reply) {
  if (refuses(senders_.check(from), reply)) return;
  core_.want_last_checkpoint(job);
  carry_out(std::move(reply));
}

void coordinator_shell::fail_job(const control_sender& from, const std::string& job,
                                 const std::string& why, reply_to reply) {
  if (refuses(senders_.check(from), reply)) return;
  port_.log_error("job " + job + " failed: " + why);
  core_.fail_job(port_.unix_now(), job, why, effects_);
  carry_out(std::move(reply));
}

// Nothing is told that the journal does not have yet.
void coordinator_shell::status(const control_sender& from, std::uint64_t events_seen,
                               reply_to reply) {
  if (refuses(senders_.check(from), reply)) return;
  core_.look_at_waits(port_.unix_now());
  carry_out(std::move(reply), {{}, core_.status(port_.unix_now(), events_seen)});
}

void coordinator_shell::stop(const control_sender& from, reply_to reply) {
  if (refuses(senders_.check(from), reply)) return;
  for (const auto& peer : receivers_.callees()) port_.stop(peer);
  for (const auto& peer : watch_.hosts()) port_.stop(peer);
  std::exchange(reply, nullptr)({});
  end({});
}

void coordinator_shell::call_answered(policies::call_id call, const call_answer& answer) {
  if (turns_.has_ended()) return;
  core_.call_done(port_.unix_now(), call, answer.result, effects_, answer.number,
                  answer.clocks);
  carry_out();
}

void coordinator_shell::process_ended(const control_sender& from,
                                      const policies::process_name& name,
                                      std::uint32_t incarnation, reply_to reply) {
  if (refuses(senders_.check(from), reply)) return;
  watch_.process_ended(name, incarnation);
  carry_out(std::move(reply));
}

void coordinator_shell::connection_lost(std::uint64_t handle, bool broke,
                                        const std::string& why) {
  if (!turns_.has_ended()) watch_.connection_lost(handle, broke, why);
}

void coordinator_shell::look() {
  if (!turns_.has_ended()) watch_.look();
}

void coordinator_shell::member_lost(const control_member& member, const std::string& why) {
  const auto now = port_.unix_now();
  bool out = false;
  // A worker that has finished leaves like this, too; the core tells them apart.
  if (member.role == process_role::shard)
    out = core_.shard_lost(now, member.index, why, effects_, member.in_group);
  else if (member.role == process_role::aggregator)
    core_.aggregator_lost(now, member.job, member.index, why, effects_);
  else
    core_.worker_lost(now, member.job, member.index, why);
  // It may be back on another connection and not know that it has been taken for dead.
  if (out) port_.expel(member.peer, {errc::cancelled, "it was taken for dead: " + why});
  carry_out();
}

void coordinator_shell::host_lost(policies::shard_map::process slot,
                                  std::uint32_t incarnation) {
  core_.host_lost(slot, incarnation);
}

void coordinator_shell::out_of_reach(const control_member& member) {
  core_.out_of_reach(port_.unix_now(), member.address);
}

void coordinator_shell::out_of_reach(policies::shard_map::process slot,
                                     std::uint32_t incarnation) {
  core_.out_of_reach(port_.unix_now(), slot, incarnation);
}

bool coordinator_shell::knows(std::uint64_t handle) const {
  return watch_.contains(handle) || turns_.goes_to(handle) || receivers_.contains(handle);
}

}  // namespace tidegate::actors
