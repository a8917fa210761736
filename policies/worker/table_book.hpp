// The tables of a worker: where their chunks live, and which pushes and pulls of each have no
// answer yet. Plain state, without decisions; worker_core decides.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "policies/placement/placement.hpp"
#include "policies/protocol/frame_tag.hpp"
#include "policies/protocol/protocol.hpp"
#include "policies/supervision/retransmit_timer.hpp"
#include "policies/worker/effects.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::policies {

// The chunks of a table on one shard, in order.
struct table_part {
  std::uint32_t shard = 0;
  bool attached = false;  // pushed and pulled in place
  std::vector<std::uint32_t> chunks;
};

// Where the last pull found a chunk: in a version buffer of its shard, as mapped after the
// shard's move number `moves`; or no_version_buffer if it was received.
struct chunk_source {
  std::uint32_t version_buffer = no_version_buffer;
  std::uint32_t moves = 0;
  bool on_device = false;  // of the version buffer's two places
  bool is_current = true;  // the last pull asked for the chunk
};

// A run of chunks [first, first + count) of the part of a table on a shard; count 0: all of it.
// The run of all_tables is all of each table that is attached there.
struct part_run {
  std::uint32_t table = 0;
  std::uint32_t shard = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

// The push, or skip, of one table at one clock. A push of ranges skips the chunks that they do
// not touch.
struct push_state {
  bool active = false;  // not acknowledged by all
  std::uint64_t clock = 0;
  operation op = 0;  // 0: a skip
  std::uint32_t half = 0;
  float rate = 1.0F;
  retransmit_timer retransmit;
  std::uint32_t remaining = 0;          // chunks
  std::vector<std::uint8_t> acked;      // per chunk
  std::vector<std::uint8_t> untouched;  // per chunk: skipped by a push of ranges

  void begin(std::uint64_t at_clock, operation named, std::uint32_t in_half);
  // Skips all chunks but these.
  void touch(std::span<const std::uint32_t> touched);
  bool skips(std::uint32_t chunk) const { return op == 0 || untouched[chunk] != 0; }
};

struct pull_state {
  enum class replied : std::uint8_t { no, arriving, yes, not_asked };
  bool active = false;
  std::uint64_t clock = 0;
  bool is_final = false;
  bool calls = false;     // a function: its answer is in no place of the parameters
  bool is_ahead = false;  // of rows for a later pull: nobody waits for it
  operation op = 0;
  std::uint32_t remaining = 0;  // chunks
  reply_code code = reply_code::ok;
  retransmit_timer retransmit;
  std::vector<replied> chunks;
  std::vector<std::uint64_t> requests;  // per chunk; asked for again it has a new number

  void begin(std::uint64_t at_clock, operation named, bool of_final, std::uint64_t request);
  // Asks for these chunks alone.
  void ask_only(std::span<const std::uint32_t> wanted);
  bool asks(std::uint32_t chunk) const { return chunks[chunk] != replied::not_asked; }
  // Returns true if this chunk is being waited for, under this number and in this state.
  bool expects(std::uint32_t chunk, std::uint64_t request, replied state) const {
    return active && requests[chunk] == request && chunks[chunk] == state;
  }
};

// A pull that begins when the one ahead of it is over.
struct waiting_pull {
  operation op = 0;  // 0: none waits
  std::uint64_t clock = 0;
  bool is_final = false;
  bool calls = false;
  bool is_ahead = false;
  bool asks_all = true;
  std::vector<std::uint32_t> chunks;  // else
};

struct worker_table {
  static constexpr auto window = runtime::limits::clocks_in_flight_max;

  std::vector<chunk_place> places;
  std::vector<table_part> parts;
  std::vector<chunk_source> sources;      // per chunk
  std::uint64_t pushed_below = 0;         // clock of the last push or skip, plus 1
  bool held = false;                      // the push of the clock under way is held back
  bool listed = false;                    // in the exchange being started
  std::array<push_state, window> pushes;  // by clock modulo window
  pull_state pull;
  waiting_pull waiting;

  // Returns true if a pull is under way or waits, which is not ahead of its use.
  bool is_pulling() const { return (pull.active && !pull.is_ahead) || waiting.op != 0; }
  // Returns the part on this shard, or null.
  const table_part* part_at(std::uint32_t shard) const;
  bool is_attached() const;  // everywhere
  // Returns the indices of `pushes`, those of earlier clocks first.
  std::array<std::size_t, window> older_first() const;
};

class table_book {
 public:
  explicit table_book(std::uint32_t shards) : moves_(shards, 0) {}

  // `places` covers the whole table; a table that is known is left as it is. `clock`: the
  // worker's.
  void add(std::uint32_t table, std::vector<chunk_place> places, std::uint64_t clock);
  void attach(std::uint32_t table, std::uint32_t shard);
  // Another process serves this shard: nothing is attached there any more.
  void shard_moved(std::uint32_t shard);

  // Returns null for an unknown table, and for a chunk that it does not have.
  worker_table* find(std::uint32_t table);
  const worker_table* find(std::uint32_t table) const;
  worker_table* find(std::uint32_t table, std::uint32_t chunk);
  const worker_table* find(std::uint32_t table, std::uint32_t chunk) const;
  // Returns false if what this was to send has been answered meanwhile: its memory may not be
  // there any more.
  bool is_of_use(const worker_effects::send& item) const;
  // Returns the chunks of a run, empty if there are none such. `table`: the run's.
  static std::span<const std::uint32_t> chunks_of(const worker_table& table,
                                                  const part_run& run);
  // The place of a chunk in its table; asserted to exist.
  const chunk_place& place_of(std::uint32_t table, std::uint32_t chunk) const;
  std::span<const table_part> parts_of(std::uint32_t table) const;
  std::span<const chunk_source> sources_of(std::uint32_t table) const;
  std::uint32_t moves_of(std::uint32_t shard) const { return moves_.at(shard); }
  const worker_table& at(std::uint32_t table) const { return tables_.at(table); }
  // Returns true if a pull ahead of its use is under way.
  bool is_any_pulled_ahead() const;

  // Notes a push or a skip, after which no table is added; returns whether there was one.
  void note_push() noexcept { has_pushed_ = true; }
  bool has_pushed() const noexcept { return has_pushed_; }

  std::uint32_t shards() const { return static_cast<std::uint32_t>(moves_.size()); }
  std::size_t size() const { return tables_.size(); }
  auto begin() { return tables_.begin(); }
  auto end() { return tables_.end(); }
  auto begin() const { return tables_.begin(); }
  auto end() const { return tables_.end(); }

 private:
  std::map<std::uint32_t, worker_table> tables_;
  std::vector<std::uint32_t> moves_;  // by shard
  bool has_pushed_ = false;
};

}  // namespace tidegate::policies
