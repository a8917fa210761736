// How an aggregator says farewell for its nodes when its members have left: once to each shard,
// and again until that has acknowledged every node.
//
// One thread. Only say() allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "policies/supervision/retransmit_timer.hpp"

namespace tidegate::policies {

class node_farewell {
 public:
  // The caller sends it to all shards now.
  void say(std::size_t shards, std::size_t nodes);
  void acknowledged(std::size_t shard, std::size_t node);
  // Another process serves this shard, and may not have heard it.
  void forget(std::size_t shard);

  bool is_said() const { return said_; }
  // Returns true if it was said, and the shard has not acknowledged it of this node;
  // shard and node are below what say() was given.
  bool is_missing(std::size_t shard, std::size_t node) const;
  // Returns true unless acknowledgements are waited for.
  bool is_settled() const;
  // Returns true if what is missing is to be sent again now.
  bool is_due(std::int64_t now, const retransmit_limits& limits) {
    return said_ && retransmit_.is_due(now, limits);
  }

 private:
  bool said_ = false;
  std::size_t nodes_ = 0;
  std::vector<std::uint8_t> heard_;  // by shard, node
  retransmit_timer retransmit_;
};

}  // namespace tidegate::policies
