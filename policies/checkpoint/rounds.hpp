// When checkpoints of one job are taken, and what each consists of: the coordinator's part.
//
//   idle --due--> beginning --begun()--> arming --answered() by all--> collecting
//   --part() of all--> writing --written()--> idle
//
// A round names a clock that no worker has come to, and each shard copies a chunk when it has
// exactly that (bsp) or all of it (ssp, async; each chunk then says what more it has). A shard
// that has gone past it says so, and a later clock is tried. So training never stops, and under
// bsp all chunks have one version. Pure; one thread; time is an argument, in nanoseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "policies/checkpoint/manifest.hpp"
#include "policies/model/clock_vector.hpp"
#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

// Asks a shard to copy every chunk of these tables at this clock and to write the copies.
// clock_vector::infinity: when all workers have finished. The shard answers with the highest
// version of a chunk there if that clock has gone by for a chunk, else with `nothing_missed`.
struct checkpoint_call {
  std::uint64_t token = 0;
  checkpoint_id id;
  std::uint64_t clock = 0;
  std::vector<std::uint32_t> tables;
  // A checkpoint that is durable: of parts of tables of rows that this process wrote for it,
  // only what has changed since is to be written. Number 0: all is.
  checkpoint_id base = {};
};
inline constexpr std::uint64_t nothing_missed = clock_vector::infinity;

// Tells the coordinator that a shard's part is durable, or why it is not.
struct checkpoint_report {
  std::uint64_t token = 0;
  checkpoint_id id;
  std::uint32_t shard = 0;
  std::string failure;  // empty: it is durable
  written_file file;
  std::uint64_t clock = 0;        // every worker's pushes of clocks below it are in
  std::vector<chunk_run> chunks;  // `table` is its id
  bool needs_base = false;        // some of it is only what has changed since call.base
  std::uint64_t took_ns = 0;      // to write the file, until it was durable
};

// Carried out in the order of `list`.
struct checkpoint_effects {
  // Gives the round a new name (checkpoint_catalog::begin) and calls begun() with it. It comes
  // before anything is asked of shards in the round.
  struct begin {
    bool final = false;  // as in `ended`
  };
  // Sends the shard a checkpoint_call of this name and clock; answered() follows, and then, or
  // before, part(). It comes after begun().
  struct ask {
    std::uint32_t shard = 0;
    checkpoint_id id;
    std::uint64_t clock = 0;
    checkpoint_id base = {};  // as in checkpoint_call
  };
  // Writes the manifest with these parts, and calls written() when it is durable or has failed.
  // It comes after all shards of the round have answered and said that their parts are durable.
  struct write {
    checkpoint_id id;
    std::uint64_t clock = 0;  // that the manifest says
    std::vector<checkpoint_part> parts;
    checkpoint_id base = {};  // which some of the parts need; number 0: none does
  };
  // Tells that a round has ended: if `result` is ok, with a checkpoint whose manifest is
  // durable, else without one, and why. No effect of the round comes later; the next begin may.
  struct ended {
    checkpoint_id id;
    std::uint64_t clock = 0;
    runtime::status result;
    bool final = false;  // the round after finished(): no other one begins
  };
  std::vector<std::variant<begin, ask, write, ended>> list;
};

// The rounds of one job, one at a time. A call that comes when it means nothing (an answer of a
// round that was given up, or twice) changes nothing.
class checkpoint_rounds {
 public:
  explicit checkpoint_rounds(const checkpoint_spec& options) : options_(options) {}

  // Takes in that a worker is at this clock. Returns true if a round is due, which begin()
  // begins.
  bool advanced(std::int64_t now, std::uint64_t clock);
  // Begins the round that is due. `shards`: those that hold chunks; empty: there is nothing to
  // keep yet, and no round begins.
  void begin(std::int64_t now, const std::set<std::uint32_t>& shards, checkpoint_effects& out);
  // Begins the final round, of what the workers leave, as all have finished. A round under way
  // is given up; a shard that still writes a part of one is asked again when it has written it.
  // While a manifest is being written nothing happens, as what it completes may be needed: to
  // be called again after written().
  void finished(const std::set<std::uint32_t>& shards, checkpoint_effects& out);

  // Makes rounds due at the next clock that can be named, as the run is about to be
  // interrupted, until one of those that begin from now on has ended with a checkpoint. A round
  // that waits for a later clock is given up.
  void want_last();
  // Returns true if that one has.
  bool has_last() const noexcept { return last_ == last_round::written; }

  // Takes the name of the round in, and asks its shards.
  void begun(checkpoint_id id, checkpoint_effects& out);
  // Takes in a shard's answer to a checkpoint_call. `missed_at`: nothing_missed, or the version
  // that the shard has come to. To be called for calls of rounds that were given up, too.
  void answered(std::uint32_t shard, checkpoint_id id, const runtime::status& result,
                std::uint64_t missed_at, checkpoint_effects& out);
  // Takes in a shard's part, which is durable or has failed. Returns true if it is one of the
  // round's.
  bool part(const checkpoint_report& report, checkpoint_effects& out);
  // Takes in that the manifest is durable (ok), or why it is not.
  void written(checkpoint_id id, const runtime::status& result, checkpoint_effects& out);
  // Takes in that another process serves this shard: a part that the one before had not written
  // will not come, so that the round ends without a checkpoint, or a final one is tried again.
  void shard_moved(std::uint32_t shard, checkpoint_effects& out);

  bool idle() const noexcept { return stage_ == stage::idle; }
  // Returns true if a round is under way at whose end the next one should have begun: its clock
  // has come, or its time has.
  bool is_overdue(std::int64_t now) const;

 private:
  enum class stage : std::uint8_t { idle, beginning, arming, collecting, writing };
  enum class last_round : std::uint8_t { none, wanted, under_way, written };

  void begin_round(std::uint64_t clock, const std::set<std::uint32_t>& shards,
                   checkpoint_effects& out);
  bool is_too_far() const;
  std::uint64_t due_clock(std::int64_t now, std::uint64_t fastest) const;
  void try_again(checkpoint_effects& out);
  void write(checkpoint_effects& out);
  void end(runtime::status result, checkpoint_effects& out);

  checkpoint_spec options_;
  stage stage_ = stage::idle;
  bool final_ = false;
  last_round last_ = last_round::none;
  bool again_ = false;               // the last round, when no shard writes any more
  std::set<std::uint32_t> writing_;  // shards whose part, of this round or one before, is due
  std::uint64_t clock_ = 0;          // of the round
  std::uint64_t margin_ = 2;         // clocks that a call is ahead of what is known
  std::uint64_t known_ = 0;          // highest version or clock heard of
  std::int64_t last_began_ = -1;
  checkpoint_id id_;
  std::set<std::uint32_t> shards_;
  std::set<std::uint32_t> silent_;  // have not answered
  bool missed_ = false;
  std::vector<checkpoint_part> parts_;
  std::uint64_t cut_ = clock_vector::infinity;  // the least of the parts
  checkpoint_id durable_;                       // the newest that this object knows to be
  // Checkpoints after the last that needs no other, up to that one.
  std::uint32_t deltas_ = 0;
  checkpoint_id base_;       // of the round
  bool needs_base_ = false;  // one of its parts does
};

}  // namespace tidegate::policies
