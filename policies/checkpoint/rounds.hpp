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

// To a shard: copy every chunk of these tables at this clock and write them.
// clock_vector::infinity: when all workers have finished. Answered with the highest version of
// a chunk there when that clock has gone by for one, else with `nothing_missed`.
struct checkpoint_call {
  std::uint64_t token = 0;
  checkpoint_id id;
  std::uint64_t clock = 0;
  std::vector<std::uint32_t> tables;
};
inline constexpr std::uint64_t nothing_missed = clock_vector::infinity;

// From a shard: its part is durable, or why not.
struct checkpoint_report {
  std::uint64_t token = 0;
  checkpoint_id id;
  std::uint32_t shard = 0;
  std::string failure;  // empty: it is durable
  written_file file;
  std::uint64_t clock = 0;        // every worker's pushes of clocks below it are in
  std::vector<chunk_run> chunks;  // `table` is its id
};

struct checkpoint_effects {
  // A new name is wanted: begun() follows.
  struct begin {};
  struct ask {
    std::uint32_t shard = 0;
    checkpoint_id id;
    std::uint64_t clock = 0;
  };
  // The parts are durable: write the manifest, whose `parts` these are; written() follows.
  struct write {
    checkpoint_id id;
    std::uint64_t clock = 0;
    std::vector<checkpoint_part> parts;
  };
  // A round has ended: why without a checkpoint, or with one.
  struct ended {
    checkpoint_id id;
    std::uint64_t clock = 0;
    runtime::status result;
    bool final = false;
  };
  std::vector<std::variant<begin, ask, write, ended>> list;
};

class checkpoint_rounds {
 public:
  explicit checkpoint_rounds(const checkpoint_spec& options) : options_(options) {}

  // A worker is at this clock; told with every report, so it only says whether a round is due.
  bool advanced(std::int64_t now, std::uint64_t clock);
  // It begins. `shards`: those that hold chunks; empty: there is nothing to keep yet.
  void begin(std::int64_t now, const std::set<std::uint32_t>& shards, checkpoint_effects& out);
  // All workers have finished: one more of what they leave. Rounds under way are given up; a
  // shard that still writes a part of one is asked again when it has.
  void finished(const std::set<std::uint32_t>& shards, checkpoint_effects& out);

  // The run is about to be interrupted: rounds are due at the next clock that can be named,
  // until one of those that begin from now on has ended with a checkpoint.
  void want_last();
  bool has_last() const noexcept { return last_ == last_round::written; }

  void begun(checkpoint_id id, checkpoint_effects& out);
  // A shard has answered the call. Told for calls of rounds that have been given up, too.
  void answered(std::uint32_t shard, checkpoint_id id, const runtime::status& result,
                std::uint64_t missed_at, checkpoint_effects& out);
  void part(const checkpoint_report& report, checkpoint_effects& out);
  void written(checkpoint_id id, const runtime::status& result, checkpoint_effects& out);
  // Another process serves this shard: what the one before had not written will not come.
  void shard_moved(std::uint32_t shard, checkpoint_effects& out);

  bool idle() const noexcept { return stage_ == stage::idle; }

 private:
  enum class stage : std::uint8_t { idle, beginning, arming, collecting, writing };
  enum class last_round : std::uint8_t { none, wanted, under_way, written };

  void begin_round(std::uint64_t clock, const std::set<std::uint32_t>& shards,
                   checkpoint_effects& out);
  std::uint64_t due_clock(std::int64_t now, std::uint64_t fastest) const;
  void try_again(checkpoint_effects& out);
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
};

}  // namespace tidegate::policies
