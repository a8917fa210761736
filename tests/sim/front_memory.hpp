// The memory of a simulated shard or aggregator: parameters in planes, pushes that wait, the
// gradients of workers that it has mapped. As actors/front_memory, with the updates that each
// payload stands for written beside it, for the checker. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "policies/front_core.hpp"
#include "tests/sim/checker.hpp"
#include "tests/sim/network.hpp"

namespace tidegate::sim {

// What is read after it was given back is no number.
void spoil(const memory_view& what);

// A gradient, or a sum of some.
struct payload {
  memory_view values;
  updates of;
};

class front_memory {
 public:
  // Slots are the next unused ones; room for `members` pushes of two clocks.
  void add_table(std::uint32_t table, const std::vector<policies::owned_chunk>& chunks,
                 std::uint32_t members);
  memory_view parameters(std::uint32_t slot, std::uint32_t plane);
  // The same, to be written as a whole: for `steps`, by a step of the optimizer.
  memory_view room(std::uint32_t slot, std::uint32_t plane, bool steps);
  // Planes that nobody may read, is_read(plane), are no numbers from now on.
  template <class IsRead>
  void spoil_planes(std::uint32_t slot, const IsRead& is_read) {
    auto& chunk = chunks_.at(slot);
    for (std::uint32_t plane = 0; plane < chunk.spoiled.size(); ++plane) {
      // The core is ahead: a step may be due that reads what the last one has written.
      if (chunk.spoiled[plane] || plane == chunk.newest || is_read(plane)) continue;
      chunk.spoiled[plane] = true;
      spoil(parameters(slot, plane));
    }
  }
  // As mapped by a worker: stays when this process is gone.
  using planes = std::shared_ptr<std::vector<region>>;
  planes planes_of(std::uint32_t slot) const { return chunks_.at(slot).planes; }
  std::uint64_t bytes_of(std::uint32_t slot) const { return chunks_.at(slot).elements * 4; }
  std::uint32_t table_of(std::uint32_t slot) const { return chunks_.at(slot).table; }
  std::uint32_t chunk_of(std::uint32_t slot) const { return chunks_.at(slot).chunk; }
  std::uint64_t first_of(std::uint32_t slot) const { return chunks_.at(slot).first; }
  const std::vector<std::uint32_t>& slots_of(std::uint32_t table) const {
    return tables_.at(table);
  }

  // Room for a push of a chunk; none when as many are held as there are credits.
  memory_view lease(std::uint64_t bytes);
  void give_back(const memory_view& lease);
  policies::payload_handle keep(payload what, bool leased);
  // Null for one that was given back.
  const payload* find(policies::payload_handle handle) const {
    const auto at = kept_.find(handle);
    return at == kept_.end() ? nullptr : &at->second.what;
  }
  void release(policies::payload_handle handle);

  std::size_t kept() const noexcept { return kept_.size(); }
  std::size_t leased() const noexcept { return leased_; }

 private:
  struct chunk_state {
    std::uint32_t table = 0;
    std::uint32_t chunk = 0;
    std::uint64_t first = 0;
    std::uint64_t elements = 0;
    front_memory::planes planes;
    std::vector<bool> spoiled;  // by plane
    std::uint32_t newest = 0;   // plane that the last step has written
  };
  struct kept_payload {
    payload what;
    bool leased = false;
  };

  std::vector<chunk_state> chunks_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> tables_;
  std::map<policies::payload_handle, kept_payload> kept_;
  policies::payload_handle last_ = 0;
  std::size_t leased_ = 0;
  std::size_t room_ = 0;
};

}  // namespace tidegate::sim
