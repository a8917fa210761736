// What a shard decides: which pushes to take, when to run the optimizer, whom to answer.
//
// Knows no payload: a push comes with a handle that the shell chose, and the core says when it
// is summed and when it is free. Per (worker, incarnation, chunk) each clock is applied once,
// whatever is duplicated or reordered on the way; a duplicate of an applied push is
// acknowledged again. Held pushes are bounded by workers x limits::clocks_in_flight_max per
// chunk.
//
// Workers come in two ways, chunk by chunk (push, pull) or a whole table at once (doorbell)
// when they share memory with this shard; both may be mixed in one table. Who pulls in place
// reads the shard's own memory. So a version lies in a version buffer, and a version buffer is
// not written while somebody may read it (chunk_versions, pull_tracker). A step goes to another
// version buffer if need be, in place otherwise.
//
// The half of an aggregator that faces its members is a shard core, too
// (job_admin::open_relay): it hands sums on instead of applying them, and its parameters come
// from upstream (relay_fetch).
//
// A primary that leads a replica hands each step to it and acknowledges pushes when the replica
// has made the step, too; until then the worker retains them (chunk_replication). A replica
// makes the steps that it is told, until it is promoted (chunk_follower). It may lead another
// one: then it hands them on, and has followed when that one has.
//
// The work is done by the parts that shard_state holds. What workers send comes in here; all
// else is asked of the part that knows it: admin(), replication(), follower(), snapshots(),
// membership(), relay(), registry().
//
// One thread. Effects are appended in the order in which they must be carried out. Once warm,
// step functions allocate nothing. References to parts are valid as long as the core.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "policies/protocol/frame_tag.hpp"
#include "policies/protocol/protocol.hpp"
#include "policies/shard/effects.hpp"
#include "policies/shard/state.hpp"

namespace tidegate::policies {

class shard_core {
 public:
  using job_options = sharding::job_options;
  using cut_state = sharding::cut_state;
  using seed_state = sharding::seed_state;
  using followed_step = sharding::followed_step;

  shard_core() : state_(std::make_unique<sharding::shard_state>()) {}

  // A push announces itself before its payload has a place: take it (exactly one of push and
  // cancel_push follows), drop it (a duplicate of one that is on its way or held), or answer it
  // at once (refused, or a duplicate of one that was applied: code ok).
  push_admission begin_push(const frame_tag& tag, std::uint64_t payload_bytes) {
    return state_->pushes.begin(tag, payload_bytes);
  }
  void cancel_push(const frame_tag& tag) { state_->pushes.cancel(tag); }

  // `pulls`: also pulls at the clock after.
  void push(const frame_tag& tag, payload_handle payload, shard_effects& out,
            bool pulls = false);
  void pull(const frame_tag& tag, bool is_final, shard_effects& out);
  // All chunks of a table at once. With a push (one payload per chunk) or a skip at tag.clock
  // the pull, if any, is of the clock after.
  struct doorbell_request {
    bool push = false;
    bool skip = false;
    bool pull = false;
    bool is_final = false;
  };
  void doorbell(const frame_tag& tag, const doorbell_request& request,
                std::span<const payload_handle> payloads, shard_effects& out);

  // The reply of `rank` in `slot` has left `version_buffer`, or never will. Returns true if
  // another waits for that: answer_waiting() sends it.
  bool sent(std::uint32_t slot, std::uint32_t rank, std::uint32_t version_buffer) {
    return state_->pulls.sent(slot, rank, version_buffer);
  }
  void answer_waiting(std::uint32_t slot, std::uint32_t rank, shard_effects& out) {
    state_->pulls.answer_waiting(slot, rank, out);
  }
  // No more pushes come from this worker, and every push of it has been acknowledged. A table
  // that it never pushed to does not wait for it any longer.
  void finished(const frame_tag& tag, shard_effects& out) { state_->admin.finished(tag, out); }
  std::uint64_t pushes_held() const noexcept { return state_->pushes.held(); }

  // Jobs, tables and workers come and go.
  sharding::job_admin& admin() noexcept { return state_->admin; }
  const sharding::job_admin& admin() const noexcept { return state_->admin; }
  // This process leads a replica, or is led.
  sharding::chunk_replication& replication() noexcept { return state_->replication; }
  const sharding::chunk_replication& replication() const noexcept {
    return state_->replication;
  }
  sharding::chunk_follower& follower() noexcept { return state_->follower; }
  // Checkpoints are taken and restored.
  sharding::snapshot_request& snapshots() noexcept { return state_->snapshots; }
  const sharding::snapshot_request& snapshots() const noexcept { return state_->snapshots; }
  // Ranks leave for good, or join.
  sharding::join_barrier& membership() noexcept { return state_->membership; }
  // Upstream answers an aggregator.
  sharding::relay_fetch& relay() noexcept { return state_->relay; }
  const sharding::relay_fetch& relay() const noexcept { return state_->relay; }
  // What is here.
  const sharding::chunk_registry& registry() const noexcept { return state_->registry; }

 private:
  std::unique_ptr<sharding::shard_state> state_;
};

}  // namespace tidegate::policies
