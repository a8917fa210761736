// The farewell that an aggregator says for its nodes when its members have finished: which
// shard has acknowledged it of which node. The core sends it, once and then again while it is
// missing.
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
  // Begins the farewell, of `nodes` nodes to `shards` shards. The caller sends it to all of
  // them.
  void say(std::size_t shards, std::size_t nodes);
  void acknowledged(std::size_t shard, std::size_t node);
  // Forgets what this shard has acknowledged, as another process serves it now.
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
