// Steps that wait for the norm of the whole gradient, where a job clips by it: a chunk whose
// pushes of a clock are here is measured, the members of the job add up what all chunks of all
// shards have told them (policies/consistency/norm_book.hpp), and any of them tells the sum,
// with which the step is made. After Pascanu et al., ICML 2013 (clipping by the norm); two
// phases, as no shard has the whole gradient.
//
// The sums of the last clocks stay known, and go to replicas with steps and seeds: a shard may
// have made the step of a clock while another one, whose primary died, measures it again. A
// member that comes back, and so lacks what the first has told, pushes that clock again and is
// told the sum. Those that have pushed a clock may all have left for good before they told its
// sum: then members that joined later hear of it by their pulls, and ask all shards.
//
// One thread. Once warm, nothing allocates.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "policies/protocol/frame_tag.hpp"
#include "policies/shard/effects.hpp"
#include "policies/shard/records.hpp"

namespace tidegate::policies::sharding {

struct shard_state;

class gradient_norms {
 public:
  explicit gradient_norms(shard_state& state) : state_(state) {}

  // Carries out `measure` decisions: measures the chunk, or where the sum of the clock is known
  // has the policy go on.
  void measure(chunk_record& chunk, std::uint64_t clock, shard_effects& out);
  // Tells the sender of a push that is here already what it may lack: what the chunk has
  // contributed, or with what the step was made.
  void tell(const chunk_record& chunk, const frame_tag& tag, shard_effects& out);
  void tell(const frame_tag& tag, shard_effects& out);
  // Tells the sender of a pull that is asked for again what the chunk has contributed, if it
  // waits for the sum: those who pushed may all have left.
  void tell_pull(const chunk_record& chunk, const frame_tag& tag, shard_effects& out);
  // Tells who asks what is known of a clock: the parts of the chunks of a table that wait for
  // the sum, or the sum.
  void tell_all(const frame_tag& tag, std::uint32_t table, shard_effects& out);

  // Returns true if a chunk of this process's job waits for the sum of tag.clock, and notes the
  // sum; go_on() of each table of the job follows. Others change nothing: sums come from every
  // member, and again.
  bool arrived(const frame_tag& tag, double squares);
  void go_on(std::uint32_t table, std::uint64_t clock, shard_effects& out);

  // Notes with which sum the step of a clock was made elsewhere.
  void note(const job_record& job, std::uint64_t clock, double squares);
  // Returns the sum of a clock, if it is known.
  std::optional<double> of(const job_record& job, std::uint64_t clock) const;
  // Returns the last sum of a clock before this one that is known.
  std::optional<step_norm> last_before(const job_record& job, std::uint64_t clock) const;

 private:
  shard_state& state_;
  std::map<std::uint64_t, std::vector<step_norm>> jobs_;  // by token; ascending in clock
};

}  // namespace tidegate::policies::sharding
