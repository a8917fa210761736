// All that a shard core knows, divided along who owns it. Each part is a class with private
// state; the parts reach each other through this struct. core.hpp says what all of it does.
#pragma once

#include "policies/shard/arrival_book.hpp"
#include "policies/shard/chunk_follower.hpp"
#include "policies/shard/chunk_replication.hpp"
#include "policies/shard/gradient_norms.hpp"
#include "policies/shard/job_admin.hpp"
#include "policies/shard/join_barrier.hpp"
#include "policies/shard/pull_tracker.hpp"
#include "policies/shard/push_window.hpp"
#include "policies/shard/registry.hpp"
#include "policies/shard/relay_fetch.hpp"
#include "policies/shard/reply_batcher.hpp"
#include "policies/shard/snapshot_request.hpp"
#include "policies/shard/step_executor.hpp"

namespace tidegate::policies::sharding {

struct shard_state {
  shard_state() = default;
  shard_state(const shard_state&) = delete;
  shard_state& operator=(const shard_state&) = delete;

  chunk_registry registry{*this};
  job_admin admin{*this};
  push_window pushes{*this};
  pull_tracker pulls{*this};
  step_executor steps{*this};
  gradient_norms norms{*this};
  reply_batcher replies{*this};
  chunk_replication replication{*this};
  chunk_follower follower{*this};
  relay_fetch relay{*this};
  snapshot_request snapshots{*this};
  join_barrier membership{*this};
  arrival_books arrivals;
};

}  // namespace tidegate::policies::sharding
