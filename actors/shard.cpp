#include "actors/shard.hpp"

#include "actors/errors.hpp"
#include "actors/from_coordinator.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::actors {

namespace log = runtime::log;

shard::behavior_type shard::make_behavior() {
  sink_ = std::make_unique<frame_mailbox>(*this, *this, home());
  store_ = std::make_unique<shard_store>(home().link().memory());
  front_ = std::make_unique<front>(*this, home(), core_, store_->memory(), index_);
  replication_ = std::make_unique<policies::replication_core>(*this, core_, front_->core());
  home().open_link(sink_.get());
  look_soon(false);
  const auto& from = keeping_.coordinator;
  return {
      from_coordinator(this, from, &shard::open_job),
      from_coordinator(this, from, &shard::open_table),
      from_coordinator(this, from, &shard::admit),
      from_coordinator(this, from, &shard::sum_progress),
      from_coordinator(this, from, &shard::shut_out),
      from_coordinator(this, from, &shard::hold),
      from_coordinator(this, from, &shard::change_roster),
      from_coordinator(this, from, &shard::close_job),
      from_coordinator(this, from, &shard::checkpoint),
      from_coordinator(this, from, &shard::lead),
      from_coordinator(this, from, &shard::follow),
      from_coordinator(this, from, &shard::promote),
      [](const policies::shard_moved&) {},
      [this](const part_written_event& event) { part_written(event); },
      [this](stop_atom) { quit(); },
      [this](look_atom) { look(); },
      [this](frame_event& event) {
        if (policies::replication_core::is_mine(event.header))
          on_replication(event);
        else
          front_->on_frame(event);
        if (is_mending()) look_soon(true);
      },
      [this](const peer_lost_event& event) { on_peer_lost(event); },
  };
}

void shard::look() {
  looked();
  front_->mend();
  replication_->mend(runtime::steady_now());
  if (home().link().loses_frames()) replication_->tick(runtime::steady_now());
  look_soon(is_mending());
}

// A neighbour that has died is another's affair: the coordinator closes the chain.
void shard::on_peer_lost(const peer_lost_event& event) {
  if (!event.ended && replication_->connection_broke(event.peer, runtime::steady_now()))
    log::info("lost the connection to a process of this shard's chain: " + event.why +
              "; it is made again");
  else
    front_->on_peer_lost(event);
  look_soon(is_mending());
}

void shard::on_exit() {
  front_->sender().post_all();
  // Sends what is posted, then no more callbacks. The store stays until this object goes:
  // frames in the mailbox still hold places of it.
  home().close_link();
  sink_->close();
  home().forget(*this);
  front_->close();
}

caf::result<done_atom> shard::close_job(const policies::close_job_call& call) {
  front_->core().about_job(call.token, [&](auto& out) { core_.close_job(call.token, out); });
  return done_atom::value;
}

caf::result<done_atom> shard::open_job(const policies::open_job_call& call) {
  if (!call.nodes.empty())
    return to_error({runtime::errc::invalid_argument, "a shard hands nothing on"});
  if (jobs_.contains(call.token)) return done_atom::value;  // an earlier call's
  core_.open_job(call.token,
                 {call.epoch, call.workers, call.consistency, call.workers_come_back,
                  call.members, call.replicated, call.team});
  replication_->job_opened(call.token);
  auto& home = jobs_[call.token];
  home.name = call.name;
  auto& options = home.options;
  options.workers = call.workers;
  options.keeps = policies::shard_core::versions_kept(call.consistency, call.workers_come_back,
                                                      call.replicated);
  options.replicated = call.replicated;
  // Whoever joins pushes here, perhaps when what it pushed before is still on its way.
  options.members =
      2 * (static_cast<std::uint32_t>(call.members.size()) + call.workers - call.team);
  options.reduce = call.reduce;
  log::info("job " + call.name + ": " + policies::to_string(call.consistency) + ", " +
            std::to_string(call.team) + " workers, which push under " +
            std::to_string(call.members.size()) + " ranks");
  return done_atom::value;
}

caf::result<done_atom> shard::open_table(const policies::open_table_call& call) {
  const auto job = jobs_.find(call.token);
  if (job == jobs_.end())
    return to_error(
        {runtime::errc::not_found, "this shard does not know the job of the table"});
  if (!core_.slots_of(call.table).empty()) return done_atom::value;  // an earlier call's
  const auto chunks = core_.open_table(call.token, call.table, call.places);
  if (auto added = store_->add_table(call, chunks, job->second.options); !added.ok()) {
    core_.forget_table(call.table);
    return to_error(added);
  }
  if (call.restore.number > 0)
    if (auto restored = restore(call, job->second, chunks); !restored.ok())
      return to_error(restored);
  front_->table_opened(call.token, call.table);
  replication_->table_opened(call.token, call.table);
  return done_atom::value;
}

void shard::hand_on(const front::effects::hand_on&, front::inputs) {
  TIDEGATE_ASSERT(false, "a shard applies what is pushed");
}

void shard::ask(const front::effects::ask&) {
  TIDEGATE_ASSERT(false, "a shard has the parameters");
}

}  // namespace tidegate::actors
