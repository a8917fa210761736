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
// membership(), relay(), norms(), registry().
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

  // Judges a push whose payload of `payload_bytes` has no place yet. take: give it a place, and
  // call exactly one of push() and cancel_push(). drop: it is a duplicate of a push that is
  // arriving or held; read it away and answer nothing. refuse: read it away and acknowledge it
  // with `code`, which is ok for a duplicate of a push that was applied.
  push_admission begin_push(const frame_tag& tag, std::uint64_t payload_bytes) {
    return state_->pushes.begin(tag, payload_bytes);
  }
  // Takes the announcement back: the payload that begin_push() allowed will not come.
  void cancel_push(const frame_tag& tag) { state_->pushes.cancel(tag); }

  // Takes in the push of a chunk, or a skip if `payload` is no_payload, and appends what
  // follows. The core owns the payload until a release effect names it. `pulls`: also makes the
  // pull of the clock after. A tag that is refused is answered in `out`.
  void push(const frame_tag& tag, payload_handle payload, shard_effects& out,
            bool pulls = false);
  // Takes in the pull of a chunk, and appends its reply, now or in a later call. `is_final`:
  // see pull_request. A pull whose tag.request is not above the last one of the rank is
  // dropped.
  void pull(const frame_tag& tag, bool is_final, shard_effects& out);
  // Judges a call whose payload has no place yet. take: give it a place, and call exactly one
  // of call() and cancel_call(). drop: read it away and answer nothing, as it is a duplicate,
  // or the call is here and is answered under the new number. refuse: read it away and answer
  // it with `code`.
  push_admission begin_call(const frame_tag& tag, std::uint64_t payload_bytes) {
    return state_->pulls.begin_call(tag, payload_bytes);
  }
  // Takes the announcement back: the payload that begin_call() allowed will not come, or is no
  // call. Returns the number under which its sender waits for an answer, which may have risen
  // since.
  std::uint64_t cancel_call(const frame_tag& tag) { return state_->pulls.cancel_call(tag); }
  // Takes in the call of a function of a chunk, which `payload` names, and which is answered
  // like a pull. It leaves a lease as it is. The core owns the payload until a release effect
  // names it.
  void call(const frame_tag& tag, payload_handle payload, bool is_final, shard_effects& out);
  // Appends the release of calls of processes that have been replaced or shut out; to be called
  // after that, if there are any.
  bool has_forgotten_calls() const noexcept { return state_->pulls.has_orphans(); }
  void release_forgotten_calls(shard_effects& out) { state_->pulls.release_orphans(out); }
  // What a doorbell asks for a run of a table's chunks at once: `count` of them, from the index
  // `first` of registry().slots_of(tag.table) on, which has as many; 0: for all. `push` and
  // `skip` are of tag.clock, at most one of them; `pull` is of the clock after then, else of
  // tag.clock.
  struct doorbell_request {
    bool push = false;
    bool skip = false;
    bool pull = false;
    bool is_final = false;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  // Takes a doorbell in. `payloads`: one for each chunk of the run, in its order, if it pushes,
  // else empty; the core owns them as in push(). Where the worker or the table is unknown it
  // refuses all and appends a release of each payload.
  void doorbell(const frame_tag& tag, const doorbell_request& request,
                std::span<const payload_handle> payloads, shard_effects& out);

  // Lets `version_buffer` be written again: the reply effect of `rank` and `slot` has left it,
  // or never will. To be called once per reply effect whose code is ok. Returns true if an
  // answer has waited for that: answer_waiting() appends it.
  bool sent(std::uint32_t slot, std::uint32_t rank, std::uint32_t version_buffer) {
    return state_->pulls.sent(slot, rank, version_buffer);
  }
  void answer_waiting(std::uint32_t slot, std::uint32_t rank, shard_effects& out) {
    state_->pulls.answer_waiting(slot, rank, out);
  }
  // Takes in a worker's farewell: it pushes no more, and all its pushes are acknowledged.
  // Appends its acknowledgement, at once or when the replica has answered, and what waited for
  // the worker; no chunk waits for it any longer.
  void finished(const frame_tag& tag, shard_effects& out) { state_->admin.finished(tag, out); }
  // Returns how many pushes of chunks are held, of all jobs.
  std::uint64_t pushes_held() const noexcept { return state_->pushes.held(); }

  // Opens and ends jobs and tables, and admits workers.
  sharding::job_admin& admin() noexcept { return state_->admin; }
  const sharding::job_admin& admin() const noexcept { return state_->admin; }
  // Hands steps to a replica that this process leads; follower() makes those of a primary.
  sharding::chunk_replication& replication() noexcept { return state_->replication; }
  const sharding::chunk_replication& replication() const noexcept {
    return state_->replication;
  }
  sharding::chunk_follower& follower() noexcept { return state_->follower; }
  // Takes and restores checkpoints.
  sharding::snapshot_request& snapshots() noexcept { return state_->snapshots; }
  const sharding::snapshot_request& snapshots() const noexcept { return state_->snapshots; }
  // Lets ranks leave for good, or join.
  sharding::join_barrier& membership() noexcept { return state_->membership; }
  // Takes what upstream answers an aggregator.
  sharding::relay_fetch& relay() noexcept { return state_->relay; }
  const sharding::relay_fetch& relay() const noexcept { return state_->relay; }
  // Lets steps wait for the norm of the whole gradient.
  sharding::gradient_norms& norms() noexcept { return state_->norms; }
  // Notes when pushes come.
  sharding::arrival_books& arrivals() noexcept { return state_->arrivals; }
  // Finds the jobs, tables and chunks that are here.
  const sharding::chunk_registry& registry() const noexcept { return state_->registry; }

 private:
  std::unique_ptr<sharding::shard_state> state_;
};

}  // namespace tidegate::policies
