#include "policies/aggregator/node_farewell.hpp"

#include <algorithm>

namespace tidegate::policies {

void node_farewell::say(std::size_t shards, std::size_t nodes) {
  said_ = true;
  nodes_ = nodes;
  heard_.assign(shards * nodes, 0);
}

void node_farewell::acknowledged(std::size_t shard, std::size_t node) {
  const auto at = shard * nodes_ + node;
  if (at < heard_.size()) heard_[at] = 1;
}

void node_farewell::forget(std::size_t shard) {
  if (said_)
    std::fill_n(heard_.begin() + static_cast<std::ptrdiff_t>(shard * nodes_), nodes_, 0);
}

bool node_farewell::is_missing(std::size_t shard, std::size_t node) const {
  return said_ && heard_[shard * nodes_ + node] == 0;
}

bool node_farewell::is_settled() const {
  return std::ranges::all_of(heard_, [](auto heard) { return heard != 0; });
}

}  // namespace tidegate::policies
