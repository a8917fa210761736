// What a coordinator asks its shell to do.
//
// The effects of one event are a turn. The shell carries out turns in the order of the events,
// and a turn in this order, each list in its own:
//
//   checkpoints: named at once; what checkpoint_begun() then appends belongs to this turn
//   records:     made durable; nothing below happens before, and no later turn
//   manifests:   their writing begins; the result is an event of its own
//   calls, moves, hosts, retirements, idle: sent
//   answers:     sent last
//
// If the records cannot be made durable the coordinator ends, and nothing below is carried out.
// The receiver of a call, a host call, a retirement or an end (`idle`) is the process that has
// the place when the event is handled, not when the turn is carried out.
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

// A ticket names a request that waits for its answer; chosen by the shell, never 0.
using ticket = std::uint64_t;
// A call_id names a call to a shard or an aggregator, also where the core repeats that call
// over a new connection. It never names another call.
using call_id = std::uint64_t;

struct coordinator_effects {
  // Call this member of a shard's group, or an aggregator of the job `aggregator_of`. The shell
  // hands the answer, of whatever result, to call_done(); `unavailable` if the member is gone
  // when the turn is carried out. If the connection is lost before the answer, nothing follows:
  // the core answers for a member that has died, and repeats calls to one that joins again. The
  // shell repeats nothing by itself.
  struct call_shard {
    std::uint32_t shard = 0;  // or the number of the aggregator
    call_id call = 0;
    shard_call message;
    std::string aggregator_of;  // empty: a shard is called
    std::uint32_t member = 0;   // of the shard's group
  };
  // Tell a worker of the job, or one of its aggregators, where a shard is now. Not answered; a
  // worker that missed it asks again (moves_of).
  struct tell_moved {
    std::string job;
    std::uint32_t index = 0;  // a rank; the number of an aggregator if `aggregates`
    bool aggregates = false;
    shard_moved message;
  };
  // Answer a request. Each ticket is answered exactly once.
  struct answer {
    ticket to = 0;
    runtime::status result;
    std::variant<std::monostate, worker_welcome, table_grant> value;
  };
  // Choose a name for the next checkpoint of this job, and hand it to checkpoint_begun() before
  // any other event, and before the records of this turn are durable.
  struct begin_checkpoint {
    std::string job;
  };
  // Write the manifest of this checkpoint, whose parts are all durable, delete checkpoints
  // beyond `keep`, and hand the result to checkpoint_written(). Nothing waits for that.
  struct write_manifest {
    checkpoint_manifest manifest;
    std::uint32_t keep = 1;
  };
  // Ask a process of a slot to begin these members of groups. Not answered: they join on their
  // own.
  struct host {
    shard_map::process process;
    host_call message;
  };
  // Ask this member of a shard's group to end in order; member_gone() follows.
  struct retire {
    std::uint32_t shard = 0;
    std::uint32_t member = 0;
  };
  // After `checkpoints`: durable in one transaction, before all the rest and any later turn.
  std::vector<coordinator_record> records;
  // After `manifests`. Calls to one member arrive in the order in which they are made.
  std::vector<call_shard> calls;
  std::vector<tell_moved> moves;  // after `calls`
  std::vector<answer> answers;    // last, after `idle`
  // First, before `records`.
  std::vector<begin_checkpoint> checkpoints;
  std::vector<write_manifest> manifests;  // after `records`, before `calls`
  std::vector<host> hosts;                // after `moves`
  std::vector<retire> retirements;        // after `hosts`
  // After `retirements`: end these processes in order, which hold no member any more.
  std::vector<shard_map::process> idle;
};

// Appends an answer with an error to a request.
inline void refuse(ticket requester, runtime::errc code, std::string why,
                   coordinator_effects& out) {
  out.answers.push_back({requester, runtime::status(code, std::move(why)), {}});
}

}  // namespace tidegate::policies
