// What a worker and each shard know of each other's memory on a device that both have: whether
// the shard can read the worker's gradients there, and whether the worker is about to be told
// of version buffers. Asked of a part of a table that is attached; nobody waits for the answer,
// as the host's memory is there as well. Plain state; client_core asks and answers. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "policies/supervision/retransmit_timer.hpp"

namespace tidegate::policies {

class device_windows {
 public:
  // The shard is asked, for the first time or for version buffers that are new.
  void ask(std::uint32_t table, std::uint32_t shard);
  // Takes in an answer. Returns false if none is waited for.
  bool answered(std::uint32_t table, std::uint32_t shard);
  // `is_read`: the shard reads gradients of the table on the device from now on. `maps`: this
  // worker can read parameters there; without it the shard is not asked again.
  void attached(std::uint32_t table, std::uint32_t shard, bool is_read, bool maps);
  // Another process serves this shard, which knows nothing.
  void shard_moved(std::uint32_t shard);

  bool is_asked(std::uint32_t table, std::uint32_t shard) const;
  // Returns true if the shard reads gradients of the table on the device.
  bool is_read(std::uint32_t table, std::uint32_t shard) const;
  // Returns true if the shard may be asked for version buffers that are new.
  bool may_ask(std::uint32_t table, std::uint32_t shard) const;
  // Returns true if no shard has been asked for anything yet.
  bool empty() const noexcept { return parts_.empty(); }
  // Returns true if an answer is waited for.
  bool is_waiting() const noexcept { return asked_ > 0; }

  // Calls call(table, shard) for each that is to be asked again by now.
  template <class Call>
  void tick(std::int64_t now, const retransmit_limits& limits, const Call& call) {
    if (!is_waiting()) return;
    for (auto& [name, part] : parts_)
      if (part.is_asked && part.retransmit.is_due(now, limits)) call(name.second, name.first);
  }
  // Calls call(table) for each table of which this shard has not answered.
  template <class Call>
  void for_each_asked(std::uint32_t shard, const Call& call) const {
    if (!is_waiting()) return;
    for (const auto& [name, part] : parts_)
      if (name.first == shard && part.is_asked) call(name.second);
  }

 private:
  struct part_state {
    bool is_asked = false;
    bool is_read = false;
    bool maps = false;
    retransmit_timer retransmit;
  };
  const part_state* find(std::uint32_t table, std::uint32_t shard) const;

  std::map<std::pair<std::uint32_t, std::uint32_t>, part_state> parts_;  // by shard, table
  std::size_t asked_ = 0;
};

}  // namespace tidegate::policies
