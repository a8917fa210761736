#include "actors/shard/shard_shell.hpp"

#include <utility>

#include "runtime/base/assert.hpp"

namespace tidegate::actors {

using runtime::errc;
using runtime::status;

status shard_shell::open_job(const policies::open_job_call& call) {
  if (!call.nodes.empty()) return {errc::invalid_argument, "a shard hands nothing on"};
  if (jobs_.contains(call.token)) return {};  // an earlier call's
  core_.admin().open_job(call.token,
                         {call.epoch, call.workers, call.consistency, call.workers_come_back,
                          call.members, call.replicated, call.team});
  replication_.job_opened(call.token);
  auto& job = jobs_[call.token];
  job.name = call.name;
  auto& options = job.options;
  options.workers = call.workers;
  options.keeps =
      policies::versions_kept(call.consistency, call.workers_come_back, call.replicated);
  options.replicated = call.replicated;
  // A worker that joins pushes here, perhaps while its earlier pushes are still on their way.
  options.members =
      2 * (static_cast<std::uint32_t>(call.members.size()) + call.workers - call.team);
  options.reduce = call.reduce;
  home_.log(severity::info, "job " + call.name + ": " + policies::to_string(call.consistency) +
                                ", " + std::to_string(call.team) +
                                " workers, which push under " +
                                std::to_string(call.members.size()) + " ranks");
  return {};
}

status shard_shell::open_table(const policies::open_table_call& call) {
  const auto job = jobs_.find(call.token);
  if (job == jobs_.end())
    return {errc::not_found, "this shard does not know the job of the table"};
  if (!core_.registry().slots_of(call.table).empty()) return {};  // an earlier call's
  const auto chunks = core_.admin().open_table(call.token, call.table, call.places);
  if (auto added = memory_.add_table(call, chunks, job->second.options); !added.ok()) {
    core_.admin().forget_table(call.table);
    return added;
  }
  if (call.restore.number > 0)
    if (auto restored = restore(call, job->second, chunks); !restored.ok()) return restored;
  ingress_.table_opened(call.token, call.table);
  replication_.table_opened(call.token, call.table);
  look_soon();
  return {};
}

runtime::expected<std::uint64_t> shard_shell::admit(const policies::admit_worker_call& call) {
  if (const auto job = jobs_.find(call.token); job != jobs_.end())
    job->second.restores.release();
  auto admitted = ingress_.admit(call);
  look_soon();
  return admitted;
}

void shard_shell::close_job(std::uint64_t token) {
  ingress_.core().about_job(token, [&](auto& out) { core_.admin().close_job(token, out); });
}

void shard_shell::on_frame(frame_event& event) {
  if (policies::replication_core::is_mine(event.header))
    on_replication(event);
  else
    ingress_.on_frame(event);
  look_soon();
}

// A neighbour that has died is another's affair: the coordinator closes the chain.
void shard_shell::on_peer_lost(const peer_lost_event& event) {
  if (!event.ended && replication_.connection_broke(event.peer, home_.now()))
    home_.log(severity::info, "lost the connection to a process of this shard's chain: " +
                                  event.why + "; it is made again");
  else
    ingress_.on_peer_lost(event);
  look_soon();
}

void shard_shell::look() {
  looks_.came();
  ingress_.mend();
  replication_.mend(home_.now());
  ingress_.add_outages(outages_);
  outages_.add(replication_, [this](policies::neighbour to) {
    const auto& link = to == policies::neighbour::replica ? follower_ : leader_;
    return link ? link->address : std::string();
  });
  outages_.report();
  if (home_.link().loses_frames()) replication_.tick(home_.now());
  look_soon();
}

void shard_shell::close() {
  // The completion keeps the adapter alive: it is called, and let go.
  if (led_) std::exchange(led_, nullptr)({runtime::errc::cancelled, "the shard ends"});
  home_.forget(*this);
  ingress_.close();
}

void shard_shell::hand_on(const effects::hand_on&, inputs) {
  TIDEGATE_ASSERT(false, "a shard applies what is pushed");
}

void shard_shell::ask(const effects::ask&) {
  TIDEGATE_ASSERT(false, "a shard has the parameters");
}

}  // namespace tidegate::actors
