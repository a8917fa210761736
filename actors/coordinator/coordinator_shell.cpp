#include "actors/coordinator/coordinator_shell.hpp"

#include <utility>

#include "policies/model/millisecond.hpp"

namespace tidegate::actors {

namespace {

using runtime::errc;
using runtime::status;

const status ended_status(errc::unavailable, "the coordinator has ended");

}  // namespace

status replaced(std::uint32_t rank, std::uint32_t incarnation) {
  return {errc::refused, "another process has taken the place of this worker (rank " +
                             std::to_string(rank) + ", now incarnation " +
                             std::to_string(incarnation) + ")"};
}

coordinator_shell::coordinator_shell(const policies::cluster_spec& cluster, std::uint64_t token,
                                     control_port& port, coordinator_storage& storage,
                                     policies::recorded_cluster before, std::uint32_t life)
    : port_(port),
      storage_(storage),
      core_(cluster, token, storage.found(), std::move(before), life),
      token_(token),
      shards_(cluster.shards),
      moves_shards_(cluster.slots > 0),
      absent_most_ns_(cluster.supervision.unreachable_ms * policies::millisecond / 2),
      members_(cluster.shards) {
  for (const auto& job : cluster.jobs)
    if (job.checkpoint) storage_.begin_after(job.name, core_.last_checkpoint(job.name));
}

void coordinator_shell::begin() {
  core_.begin(port_.unix_now(), effects_);
  carry_out();
}

void coordinator_shell::close() {
  has_ended_ = true;
  for (auto& [id, reply] : std::exchange(waiting_, {})) reply({ended_status, {}});
  for (auto& next : std::exchange(turns_, {}))
    if (next.reply) next.reply({ended_status, {}});
}

runtime::status coordinator_shell::check_token(const control_sender& from) const {
  if (has_ended_) return ended_status;
  if (from.token == token_) return {};
  return {errc::refused, "this process belongs to another run (TIDEGATE_TOKEN)"};
}

runtime::status coordinator_shell::check(const control_sender& from) const {
  const auto out = put_out_.find(from.process);
  return out == put_out_.end() ? check_token(from) : out->second;
}

bool coordinator_shell::refuses(const runtime::status& checked, const reply_to& reply) {
  if (!checked.ok()) reply({checked, {}});
  return !checked.ok();
}

policies::ticket coordinator_shell::wait(reply_to reply) {
  waiting_.emplace(++last_ticket_, std::move(reply));
  return last_ticket_;
}

void coordinator_shell::open_table(const control_sender& from,
                                   const policies::table_request& request, reply_to reply) {
  if (refuses(check(from), reply)) return;
  core_.open_table(request, wait(std::move(reply)), effects_);
  carry_out();
}

void coordinator_shell::tables_opened(const control_sender& from, const std::string& job,
                                      std::uint32_t rank,
                                      const std::vector<std::uint32_t>& tables,
                                      reply_to reply) {
  if (refuses(check(from), reply)) return;
  core_.tables_opened(port_.unix_now(), job, rank, tables, effects_);
  carry_out(std::move(reply));
}

void coordinator_shell::progress(const control_sender& from, const std::string& job,
                                 std::uint32_t rank, const policies::worker_progress& report) {
  if (!check(from).ok()) return;
  core_.progress(port_.unix_now(), job, rank, report, effects_);
  carry_out();
}

void coordinator_shell::metric(const control_sender& from, const std::string& job,
                               const std::string& metric, double value, reply_to reply) {
  if (refuses(check(from), reply)) return;
  auto taken = core_.metric(job, metric, value, effects_);
  carry_out(std::move(reply), {std::move(taken), {}});
}

// A worker that is to hash the parameters gets all tables, and has not finished yet.
void coordinator_shell::finished(const control_sender& from, const std::string& job,
                                 std::uint32_t rank, const policies::worker_progress& last,
                                 const std::string& sha256, reply_to reply) {
  if (refuses(check(from), reply)) return;
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
  if (!check(from).ok()) return;
  core_.checkpoint_part(port_.unix_now(), report, effects_);
  carry_out();
}

// The launcher learns from the status which process is condemned, and kills it.
void coordinator_shell::unreachable(const control_sender& from, const std::string& reporter,
                                    const std::vector<policies::unreachable_peer>& peers) {
  if (check(from).ok()) core_.unreachable(port_.unix_now(), reporter, peers);
}

void coordinator_shell::worker_leaves(const control_sender& from, const std::string& job,
                                      std::uint32_t rank, reply_to reply) {
  if (refuses(check(from), reply)) return;
  core_.worker_leaves(port_.unix_now(), job, rank, wait(std::move(reply)), effects_);
  carry_out();
}

void coordinator_shell::scale(const control_sender& from, const std::string& job,
                              std::uint32_t workers, reply_to reply) {
  if (refuses(check(from), reply)) return;
  auto scaled = core_.scale(port_.unix_now(), job, workers, effects_);
  carry_out(std::move(reply), {std::move(scaled), {}});
}

void coordinator_shell::scale_shards(const control_sender& from, std::uint32_t slots,
                                     reply_to reply) {
  if (refuses(check(from), reply)) return;
  auto scaled = core_.scale_shards(port_.unix_now(), slots, effects_);
  carry_out(std::move(reply), {std::move(scaled), {}});
}

void coordinator_shell::want_last_checkpoint(const control_sender& from, const std::string& job,
                                             reply_to reply) {
  if (refuses(check(from), reply)) return;
  core_.want_last_checkpoint(job);
  carry_out(std::move(reply));
}

void coordinator_shell::fail_job(const control_sender& from, const std::string& job,
                                 const std::string& why, reply_to reply) {
  if (refuses(check(from), reply)) return;
  port_.log_error("job " + job + " failed: " + why);
  core_.fail_job(port_.unix_now(), job, why, effects_);
  carry_out(std::move(reply));
}

// Nothing is told that the journal does not have yet.
void coordinator_shell::status(const control_sender& from, std::uint64_t events_seen,
                               reply_to reply) {
  if (refuses(check(from), reply)) return;
  core_.look_at_waits(port_.unix_now());
  carry_out(std::move(reply), {{}, core_.status(port_.unix_now(), events_seen)});
}

void coordinator_shell::stop(const control_sender& from, reply_to reply) {
  if (refuses(check(from), reply)) return;
  for (const auto& [place, peer] : callees_) port_.stop(peer);
  for (const auto& [slot, known] : hosts_) port_.stop(known.peer);
  std::exchange(reply, nullptr)({});
  end({});
}

void coordinator_shell::call_answered(policies::call_id call, const call_answer& answer) {
  if (has_ended_) return;
  core_.call_done(port_.unix_now(), call, answer.result, effects_, answer.number,
                  answer.clocks);
  carry_out();
}

}  // namespace tidegate::actors
