// The calls to shards and aggregators that have no answer yet. Calls are made in groups: a
// group has a subject, and stages, each of which is called when the stage before has been
// answered. When all calls of a group are answered, or one has failed and its stage is
// answered, coordinator_state::close() hands the group to the part that made it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "policies/coordinator/effects.hpp"
#include "policies/model/clock_vector.hpp"
#include "policies/protocol/control_calls.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies::coordination {

struct coordinator_state;

using group_id = std::uint64_t;
inline constexpr auto no_job = ~std::size_t{0};  // the job of groups that belong to none
inline constexpr std::uint32_t no_view = 0xffff'ffff;

// A member of a shard's group, or an aggregator of the group's job.
struct callee {
  std::uint32_t index = 0;  // of the shard, or of the aggregator
  bool aggregator = false;
  std::uint32_t member = 0;  // of a shard's group

  friend bool operator==(const callee&, const callee&) = default;
};

struct staged_call {
  callee recipient;
  shard_call call;
};

// Subjects of groups of calls. A worker_hello is the subject of an admission, the id of a table
// that of its opening.

// A member follows another in this view; it is in sync when all calls are answered.
struct new_replica {
  std::uint32_t shard = 0;
  std::uint32_t view = 0;
  bool holds_up = false;  // nobody is let in before all calls are answered
};
struct promotion {
  std::uint32_t shard = 0;
  std::uint32_t view = 0;
};
// An aggregator takes the place of another, or comes to the next coordinator: first it is made
// known upstream, which says where it is to go on, then it is told.
struct aggregator_set_up {
  std::uint32_t index = 0;
  std::uint32_t incarnation = 0;
  bool asks_upstream = true;
};
// A rank leaves for good: first the processes that it pushes to are asked, then all are told.
struct leaving {
  std::uint32_t rank = 0;
};
struct leaving_told {
  std::uint32_t rank = 0;
};
// A rank joins: first shards are asked to hold a clock for it, then all are told.
struct joining {
  worker_hello hello;
  std::uint64_t clock = 0;
  std::uint32_t tries = 0;
};
struct joining_told {
  worker_hello hello;
};
// A rank that was to join does not: shards let go of the clock that they hold.
struct joining_ended {
  std::optional<promotion> died;  // of the group that had asked them to hold it
};

struct call_group {
  std::uint32_t remaining = 0;                  // calls of this stage without an answer
  std::vector<std::vector<staged_call>> later;  // stages, the next one last
  std::size_t job = 0;
  std::vector<ticket> waiting;
  std::variant<std::monostate, worker_hello, std::uint32_t, new_replica, promotion,
               aggregator_set_up, leaving, leaving_told, joining, joining_told, joining_ended>
      about;
  std::uint64_t first_clock = clock_vector::infinity;  // the least that was answered
  std::uint64_t last_clock = 0;                        // the most
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> clocks;  // by table, chunk
  std::optional<promotion> died;  // the primary that died before it answered, in its view
  std::optional<std::uint32_t> sum_died;  // incarnation of the aggregator that died likewise
  runtime::status failure;                // the first failure
};

// Refuses all requests that wait for a group (cancelled): its job has failed.
void refuse_all(const call_group& group, const std::string& why, coordinator_effects& out);

struct open_call {
  group_id group = 0;
  callee recipient;
  bool primary = true;            // when it was called; a replica's number does not count
  bool may_fail = false;          // its failure does not fail the group
  std::uint32_t view = 0;         // serving view of the shard when it was called
  std::uint32_t incarnation = 0;  // of an aggregator
  shard_call content;             // to be called again
};

class call_tracker {
 public:
  explicit call_tracker(coordinator_state& state) : state_(state) {}

  // Returns a new group without calls. `requester` waits for it; nobody does if it is 0.
  group_id make_group(std::size_t job, ticket requester);
  call_group& group(group_id id) { return groups_.at(id); }
  const std::map<group_id, call_group>& groups() const { return groups_; }
  // Returns the first group that satisfies `is_it`, or null.
  template <class Predicate>
  call_group* find_if(const Predicate& is_it) {
    const auto at = std::find_if(groups_.begin(), groups_.end(),
                                 [&](const auto& entry) { return is_it(entry.second); });
    return at == groups_.end() ? nullptr : &at->second;
  }
  // Adds a call to the present stage of a group.
  void call(group_id group, callee recipient, shard_call call, coordinator_effects& out);
  // Returns an id for a call whose answer nobody waits for, or that is tracked elsewhere.
  call_id next_id() { return ++last_id_; }

  // Takes in an answer, of whatever result; an answer that nobody waits for changes nothing.
  // See coordinator_core::call_done().
  void answered(std::int64_t now, call_id call, const runtime::status& result,
                coordinator_effects& out, std::uint64_t answer = 0,
                std::span<const chunk_clock> clocks = {});
  // Answers all calls to a process that has died, as unavailable: another takes its place and
  // is called, too, or is set up anew. `job` is that of an aggregator, else no_job.
  void answer_for_the_dead(std::int64_t now, std::size_t job, callee recipient,
                           coordinator_effects& out);
  // Repeats all calls without an answer to a process that is reached again, under their ids:
  // the calls may not have come there, or their answers were lost. Every call may come twice.
  void repeat_calls(std::int64_t now, std::size_t job, callee recipient,
                    coordinator_effects& out);
  // Forgets the groups of a job that has failed, and refuses all requests that wait for them.
  void cancel(std::size_t job, const std::string& why, coordinator_effects& out);
  // Returns a line for each call without an answer: who is called, and to do what.
  std::vector<std::string> awaited() const;

 private:
  bool has_died(const open_call& asked, const call_group& of,
                const runtime::status& result) const;
  void note(const open_call& asked, call_group& of, const runtime::status& result,
            std::uint64_t answer, std::span<const chunk_clock> clocks) const;
  bool begin_next_stage(group_id id, call_group& group, coordinator_effects& out);

  coordinator_state& state_;
  std::map<group_id, call_group> groups_;
  std::map<call_id, open_call> calls_;
  std::uint64_t last_id_ = 0;  // of groups and calls
};

}  // namespace tidegate::policies::coordination
