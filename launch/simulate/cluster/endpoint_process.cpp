#include "launch/simulate/cluster/endpoint_process.hpp"

#include <utility>

#include "launch/simulate/cluster/host_processes.hpp"
#include "launch/simulate/cluster/worker.hpp"
#include "policies/protocol/frame_epoch.hpp"
#include "policies/shard/replication_core.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::sim {

using runtime::frame_kind;

endpoint_process::endpoint_process(world& where, process_id id, role kind, std::string name,
                                   std::uint32_t host)
    : frame_process(where, id, kind, std::move(name), host),
      cluster_member(static_cast<process&>(*this)) {}

answer endpoint_process::checkpoint(const policies::checkpoint_call&) {
  TIDEGATE_ASSERT(false, "an aggregator has nothing to keep");
  return {};
}

void endpoint_process::lead(const policies::lead_call&, const answer_to&) {
  TIDEGATE_ASSERT(false, "an aggregator has no replica");
}

void endpoint_process::follow(const policies::follow_call&) {
  TIDEGATE_ASSERT(false, "an aggregator is no replica");
}

void endpoint_process::promote(const policies::promote_call&) {
  TIDEGATE_ASSERT(false, "an aggregator is no replica");
}

void endpoint_process::upstream_moved(const policies::shard_moved&) {
  TIDEGATE_ASSERT(false, "a shard has no upstream");
}

// Whoever waits in vain for a coordinator ends, which is a death.
void endpoint_process::gave_up(const runtime::status& why) {
  if (why.code() == runtime::errc::unavailable) ++world_.killed[name()];
  expel("could not join: " + why.to_string());
}

void endpoint_process::stop(bool rests) {
  if (rests) check_rest();
  host_processes::exits(world_, id(), {});
}

void endpoint_process::placed(const runtime::frame_header& header) {
  if (header.kind == frame_kind::push) world_.check.accepted(id(), header.job, header.epoch);
}

updates endpoint_process::updates_of(std::uint32_t table, std::uint32_t chunk) const {
  const auto& header = current();
  if (const auto* sum = world_.check.sums().find({.from = current_from(),
                                                  .rank = header.worker,
                                                  .table = table,
                                                  .chunk = chunk,
                                                  .clock = header.clock}))
    return *sum;
  return {{.rank = header.worker,
           .clock = header.clock,
           .incarnation =
               epoch_incarnation_of(policies::run_of(header.epoch), header.incarnation)}};
}

updates endpoint_process::updates_of_current() const {
  const auto& header = current();
  if (policies::replication_core::is_mine(header)) return {};
  return updates_of(header.table, header.chunk);
}

updates endpoint_process::updates_in_place(std::uint32_t table, std::uint32_t chunk) const {
  world_.check.accepted(id(), current().job, current().epoch);
  return updates_of(table, chunk);
}

std::vector<region> endpoint_process::gradients_at(std::span<const std::byte> place,
                                                   std::uint32_t table, bool on_device) {
  const auto* const owner = world_.find_as<worker>(owner_in(place));
  if (owner == nullptr || has_no_window()) return {};
  return owner->gradients_of(table, on_device);
}

}  // namespace tidegate::sim
