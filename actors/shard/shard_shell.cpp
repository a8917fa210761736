#include "actors/shard/shard_shell.hpp"

#include <utility>

#include "runtime/base/assert.hpp"

namespace tidegate::actors {

using runtime::errc;
using runtime::status;

status shard_shell::open_job(const policies::open_job_call& call) {
  if (!call.nodes.empty()) return {errc::invalid_argument, "a shard hands nothing on"};
  if (jobs_.contains(call.token)) return {};  // an earlier call's
  core_.admin().open_job(call.token, {.epoch = call.epoch,
                                      .workers = call.workers,
                                      .consistency = call.consistency,
                                      .workers_come_back = call.workers_come_back,
                                      .members = call.members,
                                      .replicated = call.replicated,
                                      .contributors = call.contributors,
                                      .clips_by_norm = call.clip_norm > 0});
  chain_.job_opened(call.token, call.workers);
  checkpoints_.open_job(call.token, call.name);
  auto& options = jobs_[call.token];
  options.workers = call.workers;
  options.keeps =
      policies::versions_kept(call.consistency, call.workers_come_back, call.replicated);
  options.replicated = call.replicated;
  // A worker that joins pushes here, perhaps while its earlier pushes are still on their way.
  options.inputs =
      static_cast<std::uint32_t>(call.members.size()) + call.workers - call.contributors;
  options.members = 2 * options.inputs;
  options.reduce = call.reduce;
  options.clip_norm = call.clip_norm;
  home_.log(severity::info, "job " + call.name + ": " + policies::to_string(call.consistency) +
                                ", " + std::to_string(call.contributors) +
                                " workers, which push under " +
                                std::to_string(call.members.size()) + " ranks");
  return {};
}

void shard_shell::open_table(const policies::open_table_call& call, completion done) {
  const auto job = jobs_.find(call.token);
  if (job == jobs_.end())
    return done({errc::not_found, "this shard does not know the job of the table"});
  if (!core_.registry().slots_of(call.table).empty()) return done({});  // an earlier call's
  tables_.open(call, job->second,
               [this, job = call.token, table = call.table,
                done = std::move(done)](const status& opened) {
                 if (opened.ok()) {
                   ingress_.table_opened(job, table);
                   chain_.core().table_opened(job, table);
                   look_soon();
                 }
                 done(opened);
               });
}

runtime::expected<std::uint64_t> shard_shell::admit(const policies::admit_worker_call& call) {
  checkpoints_.workers_come(call.token);
  auto admitted = ingress_.admit(call);
  look_soon();
  return admitted;
}

void shard_shell::close_job(std::uint64_t token) {
  ingress_.core().about_job(token, [&](auto& out) { core_.admin().close_job(token, out); });
  ingress_.core().job_closed(token);
  checkpoints_.close_job(token);
  give_back_memory();
}

// Of jobs that have ended, once nobody can read it.
void shard_shell::give_back_memory() {
  for (const auto job : ingress_.core().take_deserted())
    for (const auto table : core_.registry().tables_of(job)) memory_.discard(table);
}

runtime::expected<std::uint64_t> shard_shell::checkpoint(
    const policies::checkpoint_call& call) {
  if (!jobs_.contains(call.token))
    return runtime::fail(errc::not_found, "this shard does not know the job");
  std::size_t chunks = 0;
  for (const auto table : call.tables) chunks += core_.registry().slots_of(table).size();
  std::uint64_t gone_by = 0;
  bool begun = false;
  // Steps that wait may end the part before, which then is written first.
  ingress_.core().about_job(call.token, [&](auto& out) {
    begun = checkpoints_.begin(call, chunks);
    if (begun) gone_by = core_.snapshots().cut(call.token, call.clock, call.tables, out);
  });
  if (!begun)
    return runtime::fail(errc::unavailable, "this shard still writes the last checkpoint");
  return gone_by;
}

void shard_shell::lead(const policies::lead_call& call, completion done) {
  if (chain_.lead(call, std::move(done))) look_soon();
}

bool shard_shell::promote(const policies::promote_call& call) {
  if (!chain_.promote(call)) return false;
  look_soon();
  return true;
}

runtime::buffer shard_shell::place(const runtime::frame_header& header) {
  return policies::replication_core::is_mine(header) ? chain_.place(header)
                                                     : ingress_.place(header);
}

void shard_shell::on_frame_lost(const runtime::frame_header& header) {
  if (policies::replication_core::is_mine(header))
    chain_.core().frame_lost(header);
  else
    ingress_.on_frame_lost(header);
}

void shard_shell::on_frame(frame_event& event) {
  if (policies::replication_core::is_mine(event.header))
    chain_.on_frame(event);
  else
    ingress_.on_frame(event);
  look_soon();
}

void shard_shell::on_peer_lost(const peer_lost_event& event) {
  if (!chain_.on_peer_lost(event)) ingress_.on_peer_lost(event);
  look_soon();
  give_back_memory();
}

void shard_shell::look() {
  looks_.came();
  ingress_.core().mend(home_.now());
  chain_.core().mend(home_.now());
  ingress_.add_outages(outages_);
  chain_.add_outages(outages_);
  outages_.report();
  if (home_.link().loses_frames()) chain_.core().tick(home_.now());
  look_soon();
}

void shard_shell::go_on() {
  looks_at_work_ = false;
  const auto polled = memory_.poll();
  if (!polled.ok()) return port_.give_up(polled);
  ingress_.frames().let_go();
  checkpoints_.work_ended();
  if (!memory_.ingress().work().is_idle()) work_begun();
}

void shard_shell::finish() {
  if (memory_.poll().ok()) ingress_.frames().let_go();
  ingress_.sender().post_all();
}

void shard_shell::close() {
  const continuation& looks_at_work = *this;
  home_.forget(looks_at_work);
  tables_.close();
  chain_.close();
  ingress_.close();
}

// The job ends by it: a worker is told as its push is answered.
policies::reply_code shard_shell::apply(const effects::apply& step, inputs from) {
  const auto applied = memory_.apply(step, from);
  if (applied.ok()) return policies::reply_code::ok;
  // What a disk or a device has lost is not for the job to end by: another process has the
  // chunk whole.
  if (applied.code() == runtime::errc::io_error || applied.code() == runtime::errc::unavailable)
    port_.give_up(applied);
  home_.log(severity::error, applied.message());
  return policies::reply_code::table_full;
}

void shard_shell::replicate(const effects::replicate& step) {
  chain_.core().replicate(step);
  ingress_.arrivals().wait_for_replica(chain_.core().steps_wait());
  look_soon();
}

void shard_shell::replicate_farewell(const effects::replicate_farewell& farewell) {
  chain_.core().replicate_farewell(farewell);
  look_soon();
}

void shard_shell::hand_on(const effects::hand_on&, inputs) {
  TIDEGATE_ASSERT(false, "a shard applies what is pushed");
}

void shard_shell::ask(const effects::ask&) {
  TIDEGATE_ASSERT(false, "a shard has the parameters");
}

}  // namespace tidegate::actors
