// How a process leads a replica: it hands over each step of a chunk, one under way at a time,
// and lets pushes wait until the replica has made the step, too. A replica that begins with
// nothing is handed each chunk as it is. After Li et al., OSDI 2014, section 4.3: replication
// after aggregation; beyond it, who pushed retains the gradient until the replica has it, so
// that the primary need not wait.
//
// One thread. Once warm, nothing allocates but what hands chunks over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "policies/consistency/consistency.hpp"
#include "policies/protocol/frame_tag.hpp"
#include "policies/shard/effects.hpp"
#include "policies/shard/records.hpp"
#include "policies/shard/snapshot_request.hpp"

namespace tidegate::policies::sharding {

struct shard_state;

// A chunk as it is handed over.
struct seed_state {
  cut_state now;
  std::vector<std::uint64_t> kept;  // versions before, the newest first
  std::optional<step_norm> norm;    // the last that is known; see gradient_norms
};

// A step that the replica has not made yet; the first of a chunk is on its way to it.
struct step_to_replicate {
  std::uint64_t version = 0;
  std::uint32_t rank = 0;  // or all_ranks
  std::uint64_t clock = 0;
  std::uint32_t contributors = 1;
  float rate = 1.0F;
  std::optional<double> squares = std::nullopt;  // of shard_effects::apply
  std::uint32_t inputs = 0;
  payload_handle payload = no_payload;
  bool owns_payload = false;
};

class chunk_replication {
 public:
  explicit chunk_replication(shard_state& state) : state_(state) {}

  // To be called for each slot in the order of slots; and when its table is forgotten.
  void add_chunk(const job_record& job);
  void forget_chunk(const chunk_record& chunk);

  // Leads a replica from now on. `has_all`: it has what this shard has but for steps that are
  // on their way, which are handed to it again, and opens what this shard opens, before anybody
  // pushes there. Otherwise what waited is answered; the caller hands each chunk over with
  // seed(next_to_seed()), and its steps follow from then on.
  void lead(std::uint64_t token, bool has_all, shard_effects& out);
  // Leads nobody any more, and answers what waited for the replica, which is gone and not
  // promoted.
  void lead_nobody(std::uint64_t token, shard_effects& out);
  // Returns the next chunk of the job that is to be handed over, or nothing if all have been
  // begun.
  std::optional<std::uint32_t> next_to_seed(std::uint64_t token);
  // Hands a chunk over as it is now (shard_effects::seed), once per replica. Its steps wait
  // until seeded().
  void seed(std::uint32_t slot, shard_effects& out);
  // Returns what the last seed of a chunk says, until the next one of it.
  const seed_state& seed_of(std::uint32_t slot) const { return chunks_[slot].seeded; }
  // Takes in that the replica has the chunk in this version, and hands on the first step that
  // waited. A second answer changes nothing.
  void seeded(std::uint32_t slot, std::uint64_t version, shard_effects& out);
  // Returns true if every chunk of the job has been handed over.
  bool all_seeded(std::uint64_t token);
  // Takes in that the replica has made the step to this version of these chunks of a table:
  // settles the step's pushes, then hands on the next step. A second answer changes nothing.
  void replicated(std::span<const std::uint32_t> slots, std::uint64_t version,
                  shard_effects& out);
  // Takes in that the replica knows that this worker has finished, and acknowledges its
  // farewell.
  void farewell_replicated(std::uint64_t token, std::uint32_t rank, shard_effects& out);

  // Returns true if a replica makes the steps of the chunk, too.
  bool follows(std::uint32_t slot) const { return chunks_[slot].follows; }
  // Returns true if a step with a push of (rank, clock), or that made this version, is on its
  // way to the replica. A process that was promoted may have made steps that its own replica
  // lacks: nobody has told it of their pushes, but they are not known yet.
  bool waits_for(std::uint32_t slot, std::uint32_t rank, std::uint64_t clock) const;
  bool waits_for(std::uint32_t slot, std::uint64_t version) const;
  // Hands on the step that out.list ends with. `inputs`: of it, the last ones of out.inputs.
  void retain(const chunk_record& chunk, const policy_decision& decision, std::uint32_t inputs,
              std::uint32_t contributors, shard_effects& out);
  // The same at a replica that is followed itself, for a step without a payload of ours: the
  // sum is kept here, as where it came from may go.
  void hand_on(const chunk_record& chunk, const step_to_replicate& step, shard_effects& out);
  // Makes the steps with this payload its owners, which release it when they are settled.
  // Returns false if there are none.
  bool take_payload(std::uint32_t slot, payload_handle payload);
  // Tells the replica that a worker has finished; farewell_replicated() answers the worker.
  // Returns false if there is no replica to wait for.
  bool await_farewell(std::uint64_t token, std::uint32_t rank, shard_effects& out);

 private:
  struct led_chunk {
    bool follows = false;  // its steps are made by the replica, too
    bool seeding = false;  // it is on its way there; what is to follow waits
    seed_state seeded;
    std::vector<step_to_replicate> steps;
  };
  struct led_job {
    bool leads = false;
    std::size_t begun = 0;              // of job_record::slots, the first so many follow
    std::size_t seeding = 0;            // chunks that are on their way to the replica
    std::set<std::uint32_t> farewells;  // ranks that wait for it
  };

  bool all_begun(const job_record& job);
  void acknowledge_early(const chunk_record& chunk, std::uint32_t rank, std::uint64_t clock,
                         shard_effects& out);
  void add(const chunk_record& chunk, const step_to_replicate& step, shard_effects& out);
  static void keep_sum(shard_effects& out);
  void replicate_next(std::uint32_t slot, shard_effects& out) const;
  void settle(std::uint32_t slot, const step_to_replicate& step, shard_effects& out);

  shard_state& state_;
  std::map<std::uint64_t, led_job> jobs_;  // by token
  std::vector<led_chunk> chunks_;          // by slot
};

}  // namespace tidegate::policies::sharding
