#include "launch/simulate/cluster/shard.hpp"

#include <utility>

#include "launch/simulate/cluster/coordinator.hpp"
#include "launch/simulate/cluster/host_processes.hpp"
#include "launch/simulate/cluster/shard_host.hpp"
#include "launch/simulate/cluster/slowness.hpp"

namespace tidegate::sim {

shard_process::shard_process(world& where, process_id id, std::uint32_t host,
                             std::uint32_t index, policies::group_member member,
                             const std::string& of)
    : shell_process(
          where, id, role::shard,
          of.empty()
              ? policies::name_of({index, member.number}, where.plan.spec.shards).to_string()
              : of + "shard-" + std::to_string(index),
          host),
      index_(index),
      member_(member),
      store_(where, *this, memory_, shell_),
      shell_(*this, store_, *this, index) {
  serve(shell_);
}

void shard_process::ask_to_join(process_id coordinator, answer_to back) {
  process::ask<coordinator_process>(
      coordinator,
      [index = index_, member = member_, me = id(), address = address()](
          coordinator_process& to, answer_to reply) {
        to.shard_joined(index, member, address, me, std::move(reply));
      },
      std::move(back));
}

// A part ends alone, in order.
void shard_process::stop(bool rests) {
  auto* const whole = world_.find_as<shard_host>(part_of());
  if (whole == nullptr) return endpoint_process::stop(rests);
  if (rests) check_rest();
  whole->retire(id());
}

runtime::status shard_process::open_job(const policies::open_job_call& call) {
  if (store_.open_job(call.token, call.consistency.kind == policies::consistency_kind::bsp)) {
    world_.check.open_job(call.token, call.name);
    if (call.epoch != 0) serves_since(call.epoch);
    folders_[call.token] = world_.folder(call.name);
  }
  return shell_.open_job(call);
}

answer shard_process::checkpoint(const policies::checkpoint_call& call) {
  store_.expect_cut(call.token, call.id.number, call.clock);
  const auto gone_by = shell_.checkpoint(call);
  if (!gone_by) return {gone_by.error(), {}};
  return {{}, *gone_by};
}

runtime::expected<policies::restore_source::folder> shard_process::open_folder(
    const std::string& job) {
  return world_.folder(job);
}

void shard_process::write_part(std::uint64_t token, const std::string&,
                               policies::file_writer file) {
  auto writer = std::make_shared<policies::file_writer>(std::move(file));
  const auto longer = world_.slow ? world_.slow->writes(id()) : 0;
  if (longer == 0) return step(token, writer);
  later(longer, [this, token, writer] { step(token, writer); });
}

void shard_process::step(std::uint64_t token,
                         const std::shared_ptr<policies::file_writer>& writer) {
  const auto progress = writer->step(*folders_.at(token));
  if (progress == policies::file_writer::progress::working)
    return later(world_.chance.between<nanoseconds>(0, 2 * millisecond),
                 [this, token, writer] { step(token, writer); });
  if (progress == policies::file_writer::progress::done)
    return shell_.part_written(token, writer->written(), "");
  shell_.part_written(token, {}, writer->error().to_string());
}

void shard_process::report(const policies::checkpoint_report& part) {
  tell_coordinator([part](coordinator_process& to) { to.part(part); });
}

// A death like any other.
void shard_process::give_up(const runtime::status& why) {
  if (const auto* const whole = world_.find(world_.whole(id()))) ++world_.killed[whole->name()];
  host_processes::exits(world_, id(), why);
}

void shard_process::leave() {
  host_processes::exits(world_, id(), {runtime::errc::unavailable, "it gives up"});
}

}  // namespace tidegate::sim
