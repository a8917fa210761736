// What a simulated shard or aggregator tells the checker, and what it must not hold.
#include <algorithm>

#include "launch/simulate/cluster/endpoint_process.hpp"
#include "policies/model/clock_vector.hpp"
#include "policies/protocol/protocol.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::sim {

using runtime::frame_kind;

// The chunk that the frame was about: with it readers leave. In a large table that is the chunk
// which the frame names, and some of the others in turn: a look at all of them would cost as
// much as the table is large, for each frame.
void endpoint_process::spoil_version_buffers(std::uint32_t table) {
  constexpr std::size_t large = 64;
  const auto spoil = [&](std::uint32_t slot) {
    memory_.spoil_version_buffers(slot, [&](std::uint32_t version_buffer) {
      return core().registry().is_read(slot, version_buffer);
    });
  };
  const auto slots = core().registry().slots_of(table);
  const auto& header = current();
  if (slots.size() <= large) {
    std::for_each(slots.begin(), slots.end(), spoil);
    return;
  }
  if (const auto slot = core().registry().find_slot(header.job, table, header.chunk))
    spoil(*slot);
  for (std::size_t i = 0; i < large; ++i) spoil(slots[spoiled_++ % slots.size()]);
}

// An aggregator answers for nobody but its upstream, which is checked.
void endpoint_process::check_answer(const runtime::frame_header& header,
                                    std::uint32_t version_buffer) {
  if (kind() != role::shard || header.code != 0 || header.chunk == runtime::whole_job) return;
  const bool rings =
      header.kind == frame_kind::doorbell_ack || header.kind == frame_kind::doorbell_reply;
  const bool replies = header.kind == frame_kind::pull_reply ||
                       header.kind == frame_kind::call_reply ||
                       header.kind == frame_kind::doorbell_reply;
  if (!rings && !replies && header.kind != frame_kind::push_ack) return;
  world_.check.accepted(id(), header.job, header.epoch);
  const checker::reading reading{.rank = header.worker,
                                 .clock = header.clock,
                                 .is_final = header.clock == policies::clock_vector::infinity,
                                 .incarnation = header.incarnation};
  const bool on_device = (header.flags & runtime::frame_flag_device) != 0;
  const bool knows_before = (header.flags & runtime::frame_flag_applied) != 0;
  const auto check_slot = [&](std::uint32_t slot) {
    const auto chunk = memory_.chunk_of(slot);
    world_.check.served(id(), header.job, header.epoch, header.table, chunk);
    if (!replies || knows_before)
      check_behind(slot, header.worker, header.clock - (replies ? 1 : 0));
    if (!replies) return;
    check_shown(slot, version_buffer, on_device);
    const auto shown = on_device ? memory_view() : memory_.parameters(slot, version_buffer);
    const auto values =
        on_device ? std::span(*memory_.on_device(slot, version_buffer)) : shown.values();
    world_.check.answered(header.job, header.table, chunk, reading, values, id(),
                          world_.plan.on_devices);
  };
  if (!rings) {
    if (const auto slot = core().registry().find_slot(header.job, header.table, header.chunk))
      check_slot(*slot);
    return;
  }
  const auto& slots = memory_.slots_of(header.table);
  const auto end =
      std::min<std::size_t>(slots.size(), std::size_t{header.chunk} + header.count);
  for (std::size_t index = header.chunk; index < end; ++index) check_slot(slots[index]);
}

void endpoint_process::check_rest() {
  if (world_.check.is_out(id())) return;
  // Of one that has left, nobody waits until the replica has it.
  if (world_.check.membership().anybody_left() && waits_for_replica()) return;
  if (core().pushes_held() > 0 || memory_.kept() > 0 || memory_.leased() > 0)
    world_.check.fail("credits conserved",
                      name() + " ends with " + std::to_string(core().pushes_held()) +
                          " pushes, " + std::to_string(memory_.kept()) + " payloads and " +
                          std::to_string(memory_.leased()) + " leases");
}

// Replies, of which two of a chunk may be under way to a worker; what an aggregator hands on is
// bounded by its members' credits, and asked for once more at most while it waits.
void endpoint_process::check_waiting(std::uint64_t workers) {
  const auto each = 2 + 2 * std::uint64_t{runtime::limits::clocks_in_flight_max};
  const auto bound = core().registry().chunks() * workers * each;
  if (ingress_part().frames().waiting() > bound)
    world_.check.fail("bounded",
                      name() + " has " + std::to_string(ingress_part().frames().waiting()) +
                          " frames that wait; credits allow " + std::to_string(bound));
}

void endpoint_process::check_credits() {
  std::uint64_t workers = 0;  // of the largest job
  for (const auto& job : world_.plan.spec.jobs)
    workers = std::max<std::uint64_t>(workers, job.capacity());
  const auto bound =
      core().registry().chunks() * workers * runtime::limits::clocks_in_flight_max;
  if (core().pushes_held() > bound)
    world_.check.fail("bounded", name() + " holds " + std::to_string(core().pushes_held()) +
                                     " pushes; credits allow " + std::to_string(bound));
  check_waiting(workers);
}

}  // namespace tidegate::sim
