// The rounds of checkpoints of all jobs (checkpoint_rounds): effects of a round become calls to
// shards and effects of the coordinator, and answers to those calls become events of the round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "policies/checkpoint/rounds.hpp"
#include "policies/coordinator/effects.hpp"
#include "policies/coordinator/job_table.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies::coordination {

struct coordinator_state;

class checkpointing {
 public:
  explicit checkpointing(coordinator_state& state) : state_(state) {}

  // Takes in that a worker has come to this clock: a round may be due.
  void advanced(std::int64_t now, job_record& job, std::uint64_t clock,
                coordinator_effects& out);
  // Begins the last round of a job whose workers have all finished; the job is done when that
  // checkpoint is written.
  void finished(std::int64_t now, job_record& job, coordinator_effects& out);
  // coordinator_core::checkpoint_begun(), checkpoint_part(), checkpoint_written(),
  // want_last_checkpoint(), last_checkpoint().
  void begun(std::int64_t now, const std::string& job, checkpoint_id id,
             coordinator_effects& out);
  void part(std::int64_t now, const checkpoint_report& report, coordinator_effects& out);
  void written(std::int64_t now, const std::string& job, checkpoint_id id,
               const runtime::status& result, coordinator_effects& out);
  void want_last(const std::string& job);
  checkpoint_id last(const std::string& job) const;
  // Takes in the answer to a call that asked a shard for its part. Returns false, and does
  // nothing, for other calls.
  bool answered(std::int64_t now, call_id call, const runtime::status& result,
                std::uint64_t answer, coordinator_effects& out);
  // Forgets the parts that a process of this shard was to write: another process serves the
  // shard now, or a report, which is sent only once, may have been lost with the connection.
  void forget_parts(std::int64_t now, std::uint32_t shard, coordinator_effects& out);

 private:
  struct asked_part {
    std::size_t job = 0;
    std::uint32_t shard = 0;
    checkpoint_id id;
  };

  void carry_out(std::int64_t now, std::size_t job, const checkpoint_effects& effects,
                 coordinator_effects& out);
  void round_ended(std::int64_t now, job_record& job, const checkpoint_effects::ended& ended,
                   coordinator_effects& out);
  checkpoint_manifest manifest_of(std::size_t job, const checkpoint_effects::write& step) const;

  coordinator_state& state_;
  std::map<call_id, asked_part> asked_;
};

}  // namespace tidegate::policies::coordination
