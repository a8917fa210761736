// Opens and ends jobs and tables, says which processes may push, and settles what is held when
// a worker or a job ends. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policies/model/rank_progress.hpp"
#include "policies/placement/placement.hpp"
#include "policies/protocol/frame_tag.hpp"
#include "policies/protocol/protocol.hpp"
#include "policies/shard/effects.hpp"
#include "policies/shard/records.hpp"
#include "policies/shard/registry.hpp"

namespace tidegate::policies::sharding {

struct shard_state;

class job_admin {
 public:
  explicit job_admin(shard_state& state) : state_(state) {}

  // Opens a job. Opening it again changes nothing.
  void open_job(std::uint64_t token, const job_options& options);
  // Opens a job at an aggregator, which hands a clock on in `parts` sums.
  void open_relay(std::uint64_t token, const job_options& options, std::size_t parts);
  // Opens a table with those of its chunks that are on this shard, and returns them with slots.
  // Opening it again returns what it has.
  std::vector<owned_chunk> open_table(std::uint64_t token, std::uint32_t table,
                                      std::span<const chunk_place> places,
                                      bool has_rows = false);
  // Forgets a table as if it had never been opened. Its slots are not used again. No effect
  // about it may wait.
  void forget_table(std::uint32_t table);
  // Ends the job here: refuses the pushes that are held, the pulls that wait and all later
  // frames, and releases payloads, those that are on their way upstream or to a replica when
  // that is answered.
  void close_job(std::uint64_t token, shard_effects& out);

  // Lets a worker's process push, in place of an earlier one of its rank. Returns ok, also for
  // the process that is known; unknown_job; or unknown_worker (an earlier incarnation, or a
  // rank that does not push here).
  reply_code admit_worker(std::uint64_t token, std::uint32_t rank, std::uint32_t incarnation);
  // Returns the first clock of this rank that is not in some chunk here of these tables, which
  // it has opened: clock_vector's infinity without chunks. A worker that comes back goes on
  // there; what is held of it then counts as unacknowledged pushes of the new process, within
  // its credits.
  std::uint64_t first_missing(std::uint64_t token, std::uint32_t rank,
                              std::span<const std::uint32_t> tables) const;
  // Returns, of each chunk of the job here, the first clock that it lacks of one of these
  // ranks.
  std::vector<chunk_clock> first_clocks(std::uint64_t token,
                                        std::span<const std::uint32_t> ranks) const;
  // Forgets the pulls and arriving pushes of a rank's process. What it has pushed stays.
  void forget_process(const job_record& job, std::uint32_t rank);

  // See shard_core::finished().
  void finished(const frame_tag& tag, shard_effects& out);
  // Notes that a rank of this job has finished, and answers what waited for it. Acknowledges no
  // farewell.
  void has_finished(std::uint64_t token, std::uint32_t rank, shard_effects& out);

 private:
  void add_chunk(const job_record& job, std::uint32_t slot);

  shard_state& state_;
};

}  // namespace tidegate::policies::sharding
