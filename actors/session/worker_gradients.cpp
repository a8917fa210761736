// Where the gradients of a worker's pushes lie: in its segment, which shards of this host read,
// or in the user's memory, from which they are sent.
#include <algorithm>
#include <cstring>
#include <utility>

#include "actors/session/not_finite.hpp"
#include "actors/session/worker_actor.hpp"
#include "policies/placement/ranges.hpp"
#include "runtime/kernels/gaps.hpp"

namespace tidegate::actors {

using runtime::status;

// Shards read gradients in place; those of a user's own memory are copied there first. Without
// such a shard they are sent from where they are.
const float* worker::take_gradient(const table_state& table, const worker_command& command) {
  if (!command.gradient || !table.memory->has_windows()) return command.gradient;
  const auto place = table.memory->gradient(command.half);
  std::memcpy(place.data(), command.gradient, place.size_bytes());
  copied(place.size_bytes());
  return nullptr;
}

// The push has begun, and nothing of it is sent yet: the memory is its own. What the ranges do
// not cover of the chunks that they touch becomes gaps.
void worker::write_ranges(const worker_command& push) {
  const auto place = tables_.at(push.table).memory->gradient(push.half);
  if (const auto* from = push.packed_gradient) {
    for (const auto& range : push.ranges) {
      const auto elements = range.last - range.first;
      std::copy_n(from, elements, place.data() + range.first);
      from += elements;
    }
    copied(policies::elements_of(push.ranges) * sizeof(float));
  }
  policies::visit_gaps(
      shell_.core().tables().at(push.table).places, push.ranges,
      [&](const runtime::element_range& gap) {
        runtime::kernels::fill_with_gaps(place.subspan(gap.first, gap.last - gap.first));
      });
}

// A shard that has moved to this host reads in place what it is pushed again, too, and that
// lies in the user's memory so far.
void worker::share_gradients(std::uint32_t id) {
  auto& table = tables_.at(id);
  for (std::uint32_t half = 0; half < table.gradients.size(); ++half) {
    const auto* own = std::exchange(table.gradients[half], nullptr);
    if (!own || shell_.core().is_acknowledged(id, table.pushed_at[half])) continue;
    const auto place = table.memory->gradient(half);
    std::memcpy(place.data(), own, place.size_bytes());
    copied(place.size_bytes());
  }
}

// Where every shard reads them on the device, they stay there.
bool worker::stage(std::span<const std::uint32_t> tables, const worker_command& command) {
  // An exchange of all tables may be one doorbell, which says one place for all.
  const bool is_whole = command.kind == worker_command::action::exchange &&
                        command.tables.size() == tables_.size();
  const bool is_read_there =
      is_whole ? shell_.reads_on_device(policies::all_tables)
               : std::all_of(tables.begin(), tables.end(),
                             [&](std::uint32_t id) { return shell_.reads_on_device(id); });
  for (const auto id : tables) tables_.at(id).on_host[command.half] = !is_read_there;
  return !is_read_there;
}

std::span<float> worker::host_gradient(std::uint32_t table, std::uint32_t half) {
  return tables_.at(table).memory->gradient(half);
}

status worker::judge(std::uint32_t table, std::uint64_t element) {
  return refuse_not_finite({.table = tables_.at(table).name,
                            .value = "NaN or infinity",
                            .element = element,
                            .rank = identity_.rank,
                            .clock = shell_.core().now()});
}

std::span<const std::byte> worker::device_gradients(std::uint32_t table) const {
  if (!devices_.has(table)) return {};
  return devices_.tables()->gradient_places(table);
}

status worker::map_on_device(std::uint32_t table, const policies::table_part& part,
                             std::uint32_t moves, std::span<const std::byte> places) {
  return devices_.tables()->map(table, part, moves, places);
}

std::uint64_t worker::device_buffers(std::uint32_t table, std::uint32_t shard,
                                     std::uint32_t moves) const {
  return pulls_on_device(table) ? devices_.tables()->buffers(table, shard, moves) : 0;
}

bool worker::pulls_on_device(std::uint32_t table) const {
  const auto at = tables_.find(table);
  return at != tables_.end() && at->second.pulls_on_device;
}

// The shard's next process knows nothing of devices yet, and is pushed again what the one
// before has not acknowledged.
void worker::on_shard_moved(const policies::shard_moved& moved) {
  for (auto& [id, table] : tables_)
    if (table.rows) table.rows->let_go();
  if (devices_.tables() == nullptr) return shell_.shard_moved(moved);
  devices_.hold([this] { return bring_to_host(); },
                [this, moved](const status& outcome) {
                  if (outcome.ok()) shell_.shard_moved(moved);
                });
}

std::vector<device_tables::mark> worker::bring_to_host() {
  std::vector<device_tables::mark> after;
  for (auto& [id, table] : tables_) {
    if (!devices_.has(id)) continue;
    for (std::uint32_t half = 0; half < table.on_host.size(); ++half) {
      if (shell_.core().is_acknowledged(id, table.pushed_at[half]) ||
          std::exchange(table.on_host[half], true))
        continue;
      after.push_back(devices_.tables()->take_gradient(id, half, host_gradient(id, half)));
    }
  }
  return after;
}

}  // namespace tidegate::actors
