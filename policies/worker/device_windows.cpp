#include "policies/worker/device_windows.hpp"

namespace tidegate::policies {

void device_windows::ask(std::uint32_t table, std::uint32_t shard) {
  auto& part = parts_[{shard, table}];
  if (!std::exchange(part.is_asked, true)) ++asked_;
  part.retransmit = {};
}

bool device_windows::answered(std::uint32_t table, std::uint32_t shard) {
  const auto at = parts_.find({shard, table});
  if (at == parts_.end() || !std::exchange(at->second.is_asked, false)) return false;
  --asked_;
  return true;
}

void device_windows::attached(std::uint32_t table, std::uint32_t shard, bool is_read,
                              bool maps) {
  auto& part = parts_[{shard, table}];
  part.is_read |= is_read;  // a shard that reads there goes on to
  part.maps = maps;
}

void device_windows::shard_moved(std::uint32_t shard) {
  std::erase_if(parts_, [&](const auto& entry) {
    const bool is_there = entry.first.first == shard;
    if (is_there && entry.second.is_asked) --asked_;
    return is_there;
  });
}

const device_windows::part_state* device_windows::find(std::uint32_t table,
                                                       std::uint32_t shard) const {
  const auto at = parts_.find({shard, table});
  return at == parts_.end() ? nullptr : &at->second;
}

bool device_windows::is_asked(std::uint32_t table, std::uint32_t shard) const {
  const auto* part = find(table, shard);
  return part != nullptr && part->is_asked;
}

bool device_windows::is_read(std::uint32_t table, std::uint32_t shard) const {
  const auto* part = find(table, shard);
  return part != nullptr && part->is_read;
}

bool device_windows::may_ask(std::uint32_t table, std::uint32_t shard) const {
  const auto* part = find(table, shard);
  return part != nullptr && part->maps && !part->is_asked;
}

}  // namespace tidegate::policies
