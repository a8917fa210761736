// What a coordinator asks its shell to do. The shell carries the lists out in the order of the
// fields; within a list, in its order.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "policies/checkpoint/rounds.hpp"
#include "policies/coordinator/record.hpp"
#include "policies/placement/shard_map.hpp"
#include "policies/protocol/control_calls.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

using ticket =
    std::uint64_t;  // names whoever waits for an answer; chosen by the shell, never 0
using call_id = std::uint64_t;  // names a call to a shard or an aggregator; never used twice

struct coordinator_effects {
  // Call this member of a shard's group, or an aggregator of the job `aggregator_of`. The shell
  // tells the result by call_done(), whatever it is; it repeats nothing by itself.
  struct call_shard {
    std::uint32_t shard = 0;  // or the number of the aggregator
    call_id call = 0;
    shard_call message;
    std::string aggregator_of;  // empty: a shard is called
    std::uint32_t member = 0;   // of the shard's group
  };
  // Tell a worker of the job, or one of its aggregators. No answer; whoever missed it asks
  // (moves_of).
  struct tell_moved {
    std::string job;
    std::uint32_t index = 0;  // a rank, or the number of an aggregator
    bool aggregates = false;  // the latter
    shard_moved message;
  };
  // Answer a request. Each ticket is answered exactly once.
  struct answer {
    ticket to = 0;
    runtime::status result;
    std::variant<std::monostate, worker_welcome, table_grant> value;
  };
  // Choose a name for the next checkpoint of this job, and tell it by checkpoint_begun() before
  // any other event.
  struct begin_checkpoint {
    std::string job;
  };
  // The parts of this checkpoint are durable: write its manifest, delete checkpoints beyond
  // `keep`, and tell the result by checkpoint_written().
  struct write_manifest {
    checkpoint_manifest manifest;
    std::uint32_t keep = 1;
  };
  // Ask a process of a slot to begin these members of groups. They join on their own.
  struct host {
    shard_map::process process;
    host_call message;
  };
  // Ask this member of a shard's group to end in order.
  struct retire {
    std::uint32_t shard = 0;
    std::uint32_t member = 0;
  };
  // Durable, in one transaction, before anything else of these effects is carried out, and
  // before later effects are.
  std::vector<coordinator_record> records;
  std::vector<call_shard> calls;
  std::vector<tell_moved> moves;
  std::vector<answer> answers;
  std::vector<begin_checkpoint> checkpoints;
  std::vector<write_manifest> manifests;
  std::vector<host> hosts;
  std::vector<retire> retirements;
  std::vector<shard_map::process> idle;  // processes that hold no member any more: end them
};

// Answers a request with an error.
inline void refuse(ticket requester, runtime::errc code, std::string why,
                   coordinator_effects& out) {
  out.answers.push_back({requester, runtime::status(code, std::move(why)), {}});
}

}  // namespace tidegate::policies
