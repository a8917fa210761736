#include "policies/placement/placement.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "runtime/base/assert.hpp"

namespace tidegate::policies {

namespace {

struct unplaced {
  std::size_t table = 0;
  std::uint32_t chunk = 0;
  std::uint64_t bytes = 0;
};

// (load, shard): the least loaded shard is on top, the lowest index among equals.
using shards_by_load =
    std::priority_queue<std::pair<std::uint64_t, std::uint32_t>,
                        std::vector<std::pair<std::uint64_t, std::uint32_t>>, std::greater<>>;

table_places cut(std::uint64_t elements, std::uint64_t chunk_elements) {
  table_places chunks;
  chunks.reserve((elements + chunk_elements - 1) / chunk_elements);
  for (std::uint64_t first = 0; first < elements; first += chunk_elements) {
    const auto count = std::min(chunk_elements, elements - first);
    chunks.push_back({static_cast<std::uint32_t>(chunks.size()), 0, first, count});
  }
  return chunks;
}

}  // namespace

placement::placement(std::uint32_t shards, std::uint64_t chunk_bytes)
    : chunk_bytes_(chunk_bytes), load_bytes_(shards, 0) {
  TIDEGATE_ASSERT(shards >= 1, "a cluster has at least one shard");
  TIDEGATE_ASSERT(chunk_bytes >= 64 && chunk_bytes % 64 == 0,
                  "chunk_bytes is a multiple of 64 and at least 64");
}

std::uint32_t placement::shards() const noexcept {
  return static_cast<std::uint32_t>(load_bytes_.size());
}

std::vector<table_places> placement::add(std::span<const table_spec> specs) {
  std::vector<table_places> tables;
  std::vector<unplaced> order;
  for (const auto& spec : specs) {
    const auto elements = spec.size();
    TIDEGATE_ASSERT(elements >= 1, "a table has at least one element");
    const bool has_rows = spec.has_rows();
    const auto floats = has_rows ? part_capacity(spec.rows, elements) * spec.rows.dim : 1;
    tables.push_back(cut(elements, has_rows ? 1 : chunk_bytes_ / sizeof(float)));
    for (const auto& c : tables.back())
      order.push_back({tables.size() - 1, c.chunk, c.elements * floats * sizeof(float)});
  }
  // Stable: chunks of one size keep the order of tables and elements, so the result is a
  // function of the calls alone.
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  shards_by_load queue;
  for (std::uint32_t s = 0; s < shards(); ++s) queue.emplace(load_bytes_[s], s);
  for (const auto& next : order) {
    const auto shard = queue.top().second;
    queue.pop();
    tables[next.table][next.chunk].shard = shard;
    load_bytes_[shard] += next.bytes;
    queue.emplace(load_bytes_[shard], shard);
  }
  return tables;
}

}  // namespace tidegate::policies
