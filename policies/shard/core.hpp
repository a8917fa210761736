// What a shard decides: which pushes to take, when to run the optimizer, whom to answer.
//
// Knows no payload: a push comes with a handle that the shell chose, and the core says when it
// is summed and when it is free. Per (worker, incarnation, chunk) each clock is applied once,
// whatever is duplicated or reordered on the way; a duplicate of an applied push is
// acknowledged again. Held pushes are bounded by workers x limits::clocks_in_flight_max per
// chunk.
//
// Workers come in two ways, chunk by chunk (push, pull) or a whole table at once (ring_push,
// ring_pull) when they share memory with this shard; both may be mixed in one table. Who pulls
// in place reads the shard's own memory. So a version lives in a plane, and a plane is not
// written while somebody may read it: until the worker's next pull of the chunk or its push of
// the same or a later clock (a lease), or until a reply is sent. A step goes to another plane
// if need be, in place otherwise.
//
// The half of an aggregator that faces its members is a shard core, too (open_relay): it hands
// sums on instead of applying them, and its parameters come from upstream (shard_relay.cpp).
//
// A primary that leads a replica (lead) hands each step to it and acknowledges pushes when the
// replica has made the step, too; until then the worker retains them. A replica makes the
// steps that it is told, until it is promoted (shard_replica.cpp). It may lead another one:
// then it hands them on, and has followed when that one has.
//
// One thread. Effects are appended in the order in which they must be carried out. Once warm,
// step functions allocate nothing.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policies/consistency/consistency.hpp"
#include "policies/model/rank_progress.hpp"
#include "policies/model/spec.hpp"
#include "policies/placement/placement.hpp"
#include "policies/protocol/protocol.hpp"
#include "policies/shard/effects.hpp"
#include "policies/shard/state.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::policies {

class shard_core {
 public:
  // Opening again with the same token is ignored.
  struct job_options {
    std::uint64_t epoch = 0;
    std::uint32_t workers = 0;  // ranks are below
    consistency_spec consistency;
    // Under bsp the version before the current one is kept, for a worker that comes back: it
    // may have pushed a clock to some chunks, and needs that clock's version of all.
    bool workers_come_back = false;
    std::span<const std::uint32_t> members;  // the ranks that push here, ascending; empty: all
    // Shards have replicas, which may be two versions behind: two are kept.
    bool replicated = false;
    std::uint32_t team = 0;  // workers to begin with; 0: all ranks
  };
  void open_job(std::uint64_t token, const job_options& options);
  // The same for an aggregator that hands a clock on in `parts` sums.
  void open_relay(std::uint64_t token, const job_options& options, std::size_t parts);
  // `places`: the chunks of the table on this shard. Returns them with slots. Opening a table
  // again returns what it has.
  std::vector<owned_chunk> open_table(std::uint64_t token, std::uint32_t table,
                                      std::span<const chunk_place> places);
  // As if it had never been opened. Its slots are not used again.
  void forget_table(std::uint32_t table);
  // A worker joins or replaces an earlier process of its rank.
  refusal admit_worker(std::uint64_t token, std::uint32_t rank, std::uint32_t incarnation);
  // The first clock of this rank that is not in some chunk here of these tables, which it has
  // opened: clock_vector's infinity
  // without chunks. A worker that comes back goes on there; what is held of it then counts as
  // unacknowledged pushes of the new process, within its credits.
  std::uint64_t first_missing(std::uint64_t token, std::uint32_t rank,
                              std::span<const std::uint32_t> tables) const;

  // Of each chunk of the job here, the first clock that it lacks of one of these ranks.
  std::vector<chunk_clock> first_clocks(std::uint64_t token,
                                        std::span<const std::uint32_t> ranks) const;

  // The job ends here: whoever waits is refused, what is held is released, later frames are
  // refused.
  void close_job(std::uint64_t token, shard_effects& out);

  // A push announces itself before its payload has a place: take it (exactly one of push and
  // cancel_push follows), drop it (a duplicate of one that is on its way or held), or answer it
  // at once (refused, or a duplicate of one that was applied: code none).
  push_admission begin_push(const frame_tag& tag, std::uint64_t payload_bytes);
  void cancel_push(const frame_tag& tag);
  // May this push be received? `payload_bytes` as announced.
  refusal check_push(const frame_tag& tag, std::uint64_t payload_bytes) const;

  // `pulls`: also pulls at the clock after.
  void push(const frame_tag& tag, payload_handle payload, shard_effects& out,
            bool pulls = false);
  void pull(const frame_tag& tag, bool everything, shard_effects& out);
  // The reply of `rank` in `slot` has left `plane`, or never will. Returns true if another
  // waits for that: answer_waiting() sends it.
  bool sent(std::uint32_t slot, std::uint32_t rank, std::uint32_t plane);

  void answer_waiting(std::uint32_t slot, std::uint32_t rank, shard_effects& out);

  // The chunks of a table here, in order; below they go by index.
  refusal check_worker(const frame_tag& tag) const;
  refusal check_table(const frame_tag& tag) const;
  bool has_table(std::uint64_t token, std::uint32_t table) const;
  std::span<const std::uint32_t> slots_of(std::uint32_t table) const;
  // All of them at once. With a push (one payload per chunk) or a skip at tag.clock the pull,
  // if any, is of the clock after.
  struct ring_request {
    bool push = false;
    bool skip = false;
    bool pull = false;
    bool everything = false;
  };
  void ring(const frame_tag& tag, const ring_request& request,
            std::span<const payload_handle> payloads, shard_effects& out);

  // No more pushes from this worker; every one it made has been acknowledged. A table that it
  // never pushed to does not wait for it any longer.
  void finished(const frame_tag& tag, shard_effects& out);
  // The same, as somebody else says.
  void has_finished(std::uint64_t token, std::uint32_t rank, shard_effects& out);

  // Of a rank that leaves for good frames are refused; and the first clock of which no chunk
  // here has a push of it, in its order.
  void shut_out(std::uint64_t token, std::uint32_t rank);
  std::uint64_t pushed_below(std::uint64_t token, std::uint32_t rank) const;
  // A rank may begin to push at this clock: nobody comes so far that it should have waited for
  // it, until the change is told, or another hold. 0; or, when it cannot, a clock that somebody
  // has come to, and then there is no hold; infinity: likewise.
  std::uint64_t hold(std::uint64_t token, std::uint64_t clock, std::uint32_t rank,
                     shard_effects& out);
  // Who pushes. What one that leaves has not pushed of the clocks before is left out. Told
  // again it counts once; false then.
  bool change_roster(std::uint64_t token, const roster_change& change, shard_effects& out);

  // Every chunk of these tables is copied once (snapshot) when it has all pushes of clocks
  // below `clock`, which under bsp is one version; infinity: when all workers have finished.
  // Takes the place of what was asked for before. Returns nothing_gone_by, or, when under bsp a
  // chunk is past that version already, the highest version; then nothing is copied.
  static constexpr std::uint64_t nothing_gone_by = clock_vector::infinity;
  std::uint64_t cut(std::uint64_t token, std::uint64_t clock,
                    std::span<const std::uint32_t> tables, shard_effects& out);
  // What a snapshot holds, until the next one of this chunk.
  using cut_state = shard_state::cut_state;
  const cut_state& cut_of(std::uint32_t slot) const { return chunks_[slot].cut; }
  // The chunk is what such a snapshot holds. Right after it has been opened.
  void restore(std::uint32_t slot, std::uint64_t version, std::span<const rank_progress> ranks);

  // Of a relay. Upstream has applied the sum of `clock`, or refused it; told twice it counts
  // once. `answer_follows`: pulled() is next, and its answers may carry these, too.
  void handed_on(std::uint32_t slot, std::uint64_t clock, refusal code, bool answer_follows,
                 shard_effects& out);
  // What to pull upstream; null when nothing is asked for.
  const pull_request* asked(std::uint32_t slot) const;
  // A plane that the parameters may be received into. Exactly one of cancel_pull and pulled
  // follows; a refusal needs no plane.
  std::uint32_t begin_pulled(std::uint32_t slot);
  void cancel_pulled(std::uint32_t slot);
  void pulled(std::uint32_t slot, refusal code, std::uint64_t version, std::uint64_t min_clock,
              shard_effects& out);
  // No member will push any more.
  bool all_finished(std::uint64_t token) const;

  // A replica has been given to all jobs: it has what this shard has but for steps that are on
  // their way, which are handed to it again, and opens what this one opens, before anybody
  // pushes there. Otherwise what waited is answered, and each chunk is handed over by
  // seed(next_to_seed()), and its steps from then on.
  void lead(std::uint64_t token, bool has_all, shard_effects& out);
  // It is gone, and not promoted: what waits for it is answered.
  void lead_nobody(std::uint64_t token, shard_effects& out);
  // The next chunk of the job that is to be handed over; none: all have been begun.
  std::optional<std::uint32_t> next_to_seed(std::uint64_t token);
  void seed(std::uint32_t slot, shard_effects& out);
  using seed_state = shard_state::seed_state;
  const seed_state& seed_of(std::uint32_t slot) const { return chunks_[slot].seeded; }
  void seeded(std::uint32_t slot, std::uint64_t version, shard_effects& out);
  // Every chunk of the job has been handed over.
  bool all_seeded(std::uint64_t token);
  // The replica has made the step to this version of these chunks of a table; told twice it
  // counts once.
  void replicated(std::span<const std::uint32_t> slots, std::uint64_t version,
                  shard_effects& out);
  void farewell_replicated(std::uint64_t token, std::uint32_t rank, shard_effects& out);

  // Of a replica, which no worker's frame is for: its epoch is 0. A step announces itself
  // before its payload has a place: see begin_push; code none has been made before.
  struct followed_step {
    std::uint64_t job = 0;
    std::uint32_t table = 0;
    std::uint32_t chunk = 0;
    std::uint64_t version = 0;  // that it makes
    std::uint32_t rank = 0;     // or all_ranks
    std::uint64_t clock = 0;
    std::uint32_t team = 1;  // of shard_effects::apply
  };
  push_admission begin_step(const followed_step& step, std::uint64_t payload_bytes);
  // Another process is to be followed: what was on its way here is not any more, and chunks may
  // be handed over once more.
  void follow_another();
  void cancel_step(const followed_step& step);
  // `payload`: no_payload for a skip.
  void follow(const followed_step& step, payload_handle payload, shard_effects& out);
  // May the chunk be handed over? Then its seed_plane and kept_planes are to be written.
  push_admission begin_seed(const followed_step& step);
  void cancel_seed(const followed_step& step);
  static constexpr std::uint32_t seed_plane = 0;
  static constexpr std::uint32_t kept_plane(std::size_t i) {
    return 1 + static_cast<std::uint32_t>(i);
  }
  // The chunk is what the primary had.
  void follow_seed(const followed_step& step, const seed_state& state, shard_effects& out);
  // Of the stay that began with this clock: the rank may have joined again since.
  void follow_farewell(std::uint64_t token, std::uint32_t rank, std::uint64_t since);
  // Of its present stay.
  std::uint64_t first_clock(std::uint64_t token, std::uint32_t rank) const;
  // What a chunk has, and in which plane.
  cut_state progress(std::uint32_t slot) const { return progress_of(chunks_[slot]); }
  std::uint32_t plane_of(std::uint32_t slot) const { return chunks_[slot].plane; }
  // It is the primary now, in this epoch.
  void promote(std::uint64_t token, std::uint64_t epoch, shard_effects& out);

  // Whether anybody may read that plane, once all that has been decided is carried out.
  bool is_read(std::uint32_t slot, std::uint32_t plane) const {
    const auto& chunk = chunks_[slot];
    return plane == chunk.plane || (plane < chunk.readers.size() && chunk.readers[plane] > 0);
  }
  // Of the frames of a job here; 0 for an unknown job and at a replica.
  std::uint64_t epoch_of(std::uint64_t token) const;
  std::vector<std::uint64_t> jobs() const;      // tokens of those that are open
  std::vector<std::uint64_t> all_jobs() const;  // and of those that have ended
  std::vector<std::uint32_t> tables_of(std::uint64_t token) const;
  // Among its table's chunks here.
  std::uint32_t index_of(std::uint32_t slot) const { return chunks_[slot].index; }
  std::vector<std::uint32_t> finished_ranks(std::uint64_t token) const;
  // Of a slot: its job, table and chunk.
  frame_tag name_of(std::uint32_t slot) const;
  std::optional<std::uint32_t> find_slot(std::uint64_t token, std::uint32_t table,
                                         std::uint32_t chunk) const;
  std::uint64_t pushes_held() const noexcept { return held_; }
  std::size_t chunks() const noexcept { return chunks_.size(); }  // slots so far

 private:
  static constexpr auto window = shard_state::window;
  static constexpr std::uint32_t none_open = shard_state::none_open;

  using held_push = shard_state::held_push;
  using worker_at_chunk = shard_state::worker_at_chunk;
  using worker_state = shard_state::worker_state;
  using step_to_replicate = shard_state::step_to_replicate;
  using job_state = shard_state::job_state;
  using table_state = shard_state::table_state;
  using kept_version = shard_state::kept_version;
  using chunk_state = shard_state::chunk_state;
  using answer_run = shard_state::answer_run;

  void forget_process(const job_state& job, std::uint32_t rank);
  // Every chunk follows, or has been begun to be handed over.
  bool all_begun(job_state& job) const;
  void has_left(std::uint64_t token, std::uint32_t rank, shard_effects& out);
  void forget_behind_gaps(const job_state& job, std::uint32_t rank, shard_effects& out);
  void has_joined(job_state& job, const roster_change& change, shard_effects& out);
  void orphan(chunk_state& chunk, std::uint32_t rank, shard_effects& out);
  void set_hold(job_state& job, std::uint32_t rank, std::uint64_t clock, shard_effects& out);
  static void begin_hold(const job_state& job, consistency_policy& policy);
  std::uint64_t beyond(const job_state& job, std::uint64_t clock, std::uint32_t rank) const;
  refusal find_chunk(const frame_tag& tag, std::uint32_t& slot) const;
  refusal check_clock(const chunk_state& chunk, const frame_tag& tag) const;
  void take(chunk_state& chunk, const frame_tag& tag, payload_handle payload, bool rings,
            shard_effects& out);
  void ring_push(const frame_tag& tag, std::span<const payload_handle> payloads,
                 shard_effects& out);
  void ring_pull(const frame_tag& tag, bool everything, shard_effects& out);
  // False when the pull is a duplicate, or refused with `code`.
  bool begin_pull(chunk_state& chunk, const frame_tag& tag, bool rings, refusal& code);
  void carry_out(std::uint32_t slot, const frame_tag& base, shard_effects& out);
  void apply(std::uint32_t slot, const policy_decision& decision, const frame_tag& base,
             shard_effects& out);
  void make_step(std::uint32_t slot, std::uint32_t first, std::uint32_t count,
                 std::uint32_t team, shard_effects& out);
  void retain(std::uint32_t slot, const policy_decision& decision, std::uint32_t inputs,
              std::uint32_t team, shard_effects& out);
  void hand_to_replica(std::uint32_t slot, const step_to_replicate& step, shard_effects& out);
  static void replicate_next(std::uint32_t slot, chunk_state& chunk, shard_effects& out);
  void settle_step(std::uint32_t slot, const step_to_replicate& step, shard_effects& out);
  static bool is_held(const chunk_state& chunk, std::uint32_t rank, std::uint64_t clock);
  static bool is_retained(const chunk_state& chunk, std::uint32_t rank, std::uint64_t clock);
  static bool waits_for_replica(const chunk_state& chunk, std::uint32_t rank,
                                std::uint64_t clock);
  static bool waits_for_replica(const chunk_state& chunk, std::uint64_t version);
  void hold_copy(chunk_state& chunk, const frame_tag& tag, bool rings);
  static std::uint64_t settled_below(const chunk_state& chunk, std::uint32_t rank);
  static cut_state progress_of(const chunk_state& chunk);
  bool find_step(const followed_step& step, std::uint32_t& slot) const;
  void hand_on(std::uint32_t slot, std::uint64_t clock, shard_effects& out);
  static bool cut_is_due(const chunk_state& chunk);
  void take_cut(std::uint32_t slot, shard_effects& out);
  void let_go(chunk_state& chunk, shard_effects& out);
  void settle_clock(chunk_state& chunk, std::uint64_t clock, const frame_tag& base,
                    shard_effects& out);
  // Those of ranks [begin, end) that pushed `clock`; returns how many.
  static std::uint32_t list_inputs(const chunk_state& chunk, std::uint32_t begin,
                                   std::uint32_t end, std::uint64_t clock, shard_effects& out);
  static void plant(chunk_state& chunk, std::uint32_t first, std::uint64_t clock,
                    shard_effects& out);
  frame_tag base_of(const chunk_state& chunk) const;
  void settle(chunk_state& chunk, std::uint32_t rank, std::uint64_t clock,
              const frame_tag& base, refusal code, shard_effects& out);
  void acknowledge(const chunk_state& chunk, const frame_tag& tag, bool rings, refusal code,
                   shard_effects& out);
  void answer(std::uint32_t slot, const frame_tag& tag, refusal code, shard_effects& out);
  static shard_effects::version_at version_for(const chunk_state& chunk, std::uint64_t clock);
  // Null: it is not kept.
  static const kept_version* kept_of(const chunk_state& chunk, std::uint64_t clock);
  static void keep(chunk_state& chunk, std::uint32_t plane, std::uint64_t version);
  static frame_tag tag_of(const chunk_state& chunk, std::uint32_t rank, std::uint64_t clock,
                          const frame_tag& base);
  static void end_lease(chunk_state& chunk, worker_at_chunk& worker);
  static std::uint32_t free_plane(chunk_state& chunk);
  void hold_push(const frame_tag& tag, payload_handle payload, shard_effects& out);
  void park_pull(const frame_tag& tag, bool everything, shard_effects& out);
  void join_answers(std::size_t begin, shard_effects& out);
  void add_to_run(const chunk_state& chunk, answer_run run);
  void merge_runs();
  void flush_runs(shard_effects& out);

  std::map<std::uint64_t, job_state> jobs_;
  std::map<std::uint32_t, table_state> tables_;
  std::vector<chunk_state> chunks_;
  policy_decisions decisions_;
  std::vector<answer_run> runs_;      // of the step under way
  std::vector<std::size_t> replies_;  // by rank, of join_answers
  std::uint64_t held_ = 0;
};

}  // namespace tidegate::policies
