// Where the gradients of a worker's pushes lie: in its segment, which shards of this host read,
// or in the user's memory, from which they are sent.
#include <cstring>
#include <utility>

#include "actors/session/worker_actor.hpp"

namespace tidegate::actors {

// Shards read gradients in place; those of a user's own memory are copied there first. Without
// such a shard they are sent from where they are.
const float* worker::take_gradient(const table_state& table, const worker_command& command) {
  if (!command.gradient || !table.memory->has_windows()) return command.gradient;
  const auto place = table.memory->gradient(command.half);
  std::memcpy(place.data(), command.gradient, place.size_bytes());
  copied(place.size_bytes());
  return nullptr;
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

}  // namespace tidegate::actors
