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
// One thread. Effects are appended in the order in which they must be carried out. Once warm,
// step functions allocate nothing.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "policies/consistency.hpp"
#include "policies/placement.hpp"
#include "policies/protocol.hpp"
#include "policies/rank_progress.hpp"
#include "policies/relay.hpp"
#include "policies/spec.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::policies {

inline constexpr std::uint32_t whole_table = 0xffff'ffff;  // as the chunk of a tag

using payload_handle = std::uint32_t;  // the shell's; no_payload means a skipped push
inline constexpr payload_handle no_payload = 0;

// Which push or pull a frame speaks of.
struct frame_tag {
  std::uint64_t job = 0;  // token
  std::uint32_t epoch = 0;
  std::uint32_t incarnation = 0;
  std::uint32_t rank = 0;
  std::uint32_t table = 0;
  std::uint32_t chunk = 0;
  std::uint64_t clock = 0;
  std::uint64_t request = 0;  // pulls: the worker's number for it, rising per chunk

  friend bool operator==(const frame_tag&, const frame_tag&) = default;
};

struct shard_effects {
  // Optimizer step on chunk slot `slot` with inputs [first, first + count), ascending in rank:
  // reads the parameters in plane `from` and writes them to plane `to`, perhaps the same.
  struct apply {
    std::uint32_t slot = 0;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t from = 0;
    std::uint32_t to = 0;
  };
  struct release {  // this payload is not needed any more
    payload_handle payload = no_payload;
  };
  struct acknowledge {  // push or skip: applied (none), or refused
    frame_tag tag;
    refusal code = refusal::none;
  };
  struct version_at {
    std::uint32_t plane = 0;
    std::uint64_t version = 0;
    std::uint64_t min_clock = 0;  // every worker's clocks below this are in

    friend bool operator==(const version_at&, const version_at&) = default;
  };
  // Pull: send the chunk in `slot` (none) and say sent() afterwards, or refuse.
  struct reply {
    frame_tag tag;
    refusal code = refusal::none;
    std::uint32_t slot = 0;
    version_at where;
    bool applied = false;  // also acknowledges the push of the clock before
  };
  // The same for `count` chunks of a worker that rings; tag.chunk is the index of the first
  // among the table's chunks here, or whole_table for a refusal of all.
  struct ring_acknowledge {
    frame_tag tag;
    std::uint32_t count = 0;
    refusal code = refusal::none;
  };
  struct ring_reply {
    frame_tag tag;
    std::uint32_t count = 0;
    refusal code = refusal::none;
    version_at where;
    bool applied = false;  // also acknowledges the push of the clock before
  };
  // Of a relay: send the sum of these inputs (none: a skip) upstream, and say handed_on() when
  // it is answered. The inputs stay until then.
  struct hand_on {
    std::uint32_t slot = 0;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint64_t clock = 0;
  };
  // Of a relay: pull upstream as asked(slot) says, and say pulled() when it is answered.
  struct ask {
    std::uint32_t slot = 0;
  };
  // Copy the chunk as it is in this plane for a checkpoint, with what cut_of(slot) says.
  struct snapshot {
    std::uint32_t slot = 0;
    std::uint32_t plane = 0;
  };
  struct input {
    std::uint32_t rank = 0;
    payload_handle payload = no_payload;
  };

  std::vector<std::variant<apply, release, acknowledge, reply, ring_acknowledge, ring_reply,
                           hand_on, ask, snapshot>>
      list;
  std::vector<input> inputs;

  void clear() {
    list.clear();
    inputs.clear();
  }
};

// A table as one shard sees it: the chunks it owns, and the dense slots the core gave them.
struct owned_chunk {
  std::uint32_t chunk = 0;
  std::uint32_t slot = 0;
  std::uint64_t first = 0;  // element of the table
  std::uint64_t elements = 0;
};

struct push_admission {
  enum class what : std::uint8_t { take, drop, refuse };
  what kind = what::refuse;
  refusal code = refusal::none;
};

class shard_core {
 public:
  // Opening again with the same token is ignored.
  struct job_options {
    std::uint32_t epoch = 0;
    std::uint32_t workers = 0;
    consistency_spec consistency;
    // Under bsp the version before the current one is kept, for a worker that comes back: it
    // may have pushed a clock to some chunks, and needs that clock's version of all.
    bool workers_come_back = false;
    std::span<const std::uint32_t> members;  // the ranks that push here, ascending; empty: all
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
  // The reply of `rank` in `slot` has left `plane`, or never will.
  void sent(std::uint32_t slot, std::uint32_t rank, std::uint32_t plane);

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
  void ring(const frame_tag& tag, const ring_request& what,
            std::span<const payload_handle> payloads, shard_effects& out);

  // No more pushes from this worker; every one it made has been acknowledged. A table that it
  // never pushed to does not wait for it any longer.
  void finished(const frame_tag& tag, shard_effects& out);

  // Every chunk of these tables is copied once (snapshot) when it has all pushes of clocks
  // below `clock`, which under bsp is one version; infinity: when all workers have finished.
  // Takes the place of what was asked for before. Returns nothing_gone_by, or, when under bsp a
  // chunk is past that version already, the highest version; then nothing is copied.
  static constexpr std::uint64_t nothing_gone_by = clock_vector::infinity;
  std::uint64_t cut(std::uint64_t token, std::uint64_t clock,
                    std::span<const std::uint32_t> tables, shard_effects& out);
  // What a snapshot holds, until the next one of this chunk.
  struct cut_state {
    std::uint64_t version = 0;
    std::vector<rank_progress> ranks;
  };
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

  // Whether anybody may read that plane, once all that has been decided is carried out.
  bool is_read(std::uint32_t slot, std::uint32_t plane) const {
    const auto& chunk = chunks_[slot];
    return plane == chunk.plane || (plane < chunk.readers.size() && chunk.readers[plane] > 0);
  }
  std::uint64_t pushes_held() const noexcept { return held_; }
  std::size_t chunks() const noexcept { return chunks_.size(); }  // slots so far

 private:
  static constexpr auto window = runtime::limits::clocks_in_flight_max;
  static constexpr std::uint32_t none_open = 0xffff'ffff;

  struct held_push {
    bool arriving = false;  // its payload has a place and is on its way
    bool there = false;
    bool rings = false;
    std::uint64_t clock = 0;
    payload_handle payload = no_payload;
  };
  struct worker_at_chunk {
    std::uint64_t next = 0;                // the clock expected
    std::array<held_push, window> held{};  // by clock modulo window
    bool pulling = false;
    bool pull_rings = false;
    bool leased = false;  // reads lease.plane, since it pulled at pull_clock
    std::uint8_t sending = 0;
    std::uint64_t pull_clock = 0;
    std::uint64_t request = 0;  // of the last pull
    shard_effects::version_at lease;
  };
  struct worker_state {
    bool member = true;             // else it does not push here
    std::uint32_t incarnation = 0;  // 0: never admitted
    bool finished = false;
  };
  struct job_state {
    std::uint32_t epoch = 0;
    bool closed = false;
    bool keeps_previous = false;
    consistency_spec consistency;
    std::size_t relay_parts = 0;  // 0: no relay
    std::vector<worker_state> workers;
    std::vector<std::uint32_t> slots;  // of all its chunks
  };
  // Runs of this table's chunks that the step under way answers as one, by rank.
  struct open_runs {
    std::uint32_t acknowledge = none_open;
    std::uint32_t reply = none_open;
  };
  struct table_state {
    std::uint64_t token = 0;
    job_state* job = nullptr;
    std::map<std::uint32_t, std::uint32_t> slots;  // chunk -> slot
    std::vector<std::uint32_t> order;              // slots by index
    std::vector<open_runs> runs;
  };
  struct chunk_state {
    std::uint32_t table = 0;
    std::uint32_t chunk = 0;
    std::uint32_t index = 0;  // among the table's chunks here
    std::uint32_t plane = 0;  // of the current version
    std::uint64_t elements = 0;
    std::uint64_t version = 0;
    std::uint32_t previous = none_open;  // plane of the version before, when it is kept
    std::uint64_t previous_version = 0;
    table_state* home = nullptr;
    std::vector<std::uint32_t> readers;  // of each plane
    std::unique_ptr<consistency_policy> policy;
    relay_policy* relay = nullptr;        // `policy`, when this is a relay
    std::uint32_t filling = none_open;    // plane that is received into
    bool received = false;                // from upstream: there is a version
    refusal refused = refusal::none;      // what upstream said to a pull
    std::array<refusal, window> codes{};  // what upstream said to clocks, by clock
    bool to_cut = false;                  // at cut_clock
    std::uint64_t cut_clock = 0;
    cut_state cut;
    std::vector<worker_at_chunk> workers;
  };
  struct answer_run {
    bool is_reply = false;
    frame_tag tag;
    std::uint32_t count = 0;
    refusal code = refusal::none;
    shard_effects::version_at where;
    bool applied = false;  // see ring_reply
    bool merged = false;   // an acknowledgement that a reply carries
  };

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
  void apply(std::uint32_t slot, const policy_decision& what, const frame_tag& base,
             shard_effects& out);
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
  static bool has_previous(const chunk_state& chunk, std::uint64_t clock);
  static void keep_previous(chunk_state& chunk, std::uint32_t plane, std::uint64_t version);
  static frame_tag tag_of(const chunk_state& chunk, std::uint32_t rank, std::uint64_t clock,
                          const frame_tag& base);
  static void end_lease(chunk_state& chunk, worker_at_chunk& worker);
  static std::uint32_t free_plane(chunk_state& chunk);
  void hold_push(const frame_tag& tag, payload_handle payload, shard_effects& out);
  void park_pull(const frame_tag& tag, bool everything, shard_effects& out);
  void join_answers(std::size_t begin, shard_effects& out);
  void add_to_run(const chunk_state& chunk, answer_run what);
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

// Planes that versions of a chunk need at most: each worker reads two, one perhaps in place;
// one is current, one kept for who comes back, one is written.
constexpr std::uint32_t planes_max(std::uint32_t workers) noexcept {
  return 2 * workers + 3;
}

}  // namespace tidegate::policies
