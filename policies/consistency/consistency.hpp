// A consistency policy: when a push is applied and when a pull is answered. One object per
// chunk.
//
// Pure state machines. The shard core feeds each exactly one push_arrived per (worker, clock),
// in clock order per worker, and carries out the decisions in the order in which they were
// appended. Adding a policy: one header, one source, one test, one line in
// policies/model/policy_traits.hpp (CONTRIBUTING.md).
//
// Words: a worker "at clock c" has ended clocks 0 .. c-1. "through" of a worker is the number
// of its clocks that have arrived here. One thread; the hot path allocates nothing once vectors
// are warm.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "policies/model/clock_vector.hpp"
#include "policies/model/spec.hpp"

namespace tidegate::policies {

struct pull_request {
  std::uint32_t rank = 0;
  std::uint64_t clock = 0;  // of the worker that asks
  bool is_final = false;    // wait until all others have finished or come to `clock`, too
};

struct policy_decision {
  enum class action : std::uint8_t {
    apply_one,    // optimizer step with the push of (rank, clock) alone
    apply_clock,  // optimizer step with the sum of all workers' pushes of `clock`
    answer,       // send the chunk to `rank`, which pulled at `clock`
    too_late,     // refuse that pull: the version it may have is gone
    // Decisions of relay_policy alone:
    hand_on,  // send the sum of all members' pushes of `clock` upstream
    settle,   // that sum has been answered
    ask,      // pull at `clock` upstream
  };
  action kind = action::answer;
  std::uint32_t rank = 0;
  std::uint64_t clock = 0;

  friend bool operator==(const policy_decision&, const policy_decision&) = default;
};

using policy_decisions = std::vector<policy_decision>;

class consistency_policy {
 public:
  virtual ~consistency_policy() = default;

  // The push (or skip) of `clock` by `rank`; clocks of one rank come as 0, 1, 2, ...
  void push_arrived(std::uint32_t rank, std::uint64_t clock, policy_decisions& out);
  // `rank` never pushes here: what it pushes comes from another, or not at all. Before any
  // push.
  void worker_absent(std::uint32_t rank) { clocks_.finish(rank); }
  // At most one pull per rank is parked at a time (the shard core sees to it).
  void pull_arrived(const pull_request& pull, policy_decisions& out);
  // No more pushes from `rank`.
  void worker_finished(std::uint32_t rank, policy_decisions& out);
  // Clocks below are nobody's, before any push: all joined later.
  std::uint64_t first_clock() const noexcept {
    return clocks_.min() == clock_vector::infinity ? 0 : clocks_.min();
  }
  // What is due although nothing has come: after restore(), where all have joined later.
  void catch_up(policy_decisions& out);
  bool is_out(std::uint32_t rank) const noexcept {
    return clocks_.through(rank) == clock_vector::infinity;
  }
  // `rank`, which is absent or has finished, pushes from this clock on.
  void worker_joins(std::uint32_t rank, std::uint64_t clock) { clocks_.begin(rank, clock); }
  // Begins where another left off: `through` of each worker, those absent apart, and the
  // clocks of all that have been applied together. Before any push.
  void restore(std::uint64_t version, const std::vector<std::uint64_t>& through);
  // `rank` came back as a new process: its parked pull is forgotten, its clocks stand.
  void worker_replaced(std::uint32_t rank);

  // Every worker's updates of clocks below this are in the chunk; clock_vector::infinity when
  // all have finished.
  virtual std::uint64_t complete_below() const noexcept { return clocks_.min(); }
  // All pushes of `rank` below this have been applied.
  virtual std::uint64_t applied_below(std::uint32_t rank) const noexcept {
    return clocks_.through(rank);
  }
  std::size_t parked() const noexcept { return parked_.size(); }

 protected:
  explicit consistency_policy(std::uint32_t workers) : clocks_(workers), waits_(workers, 0) {
    parked_.reserve(workers);
  }
  const clock_vector& clocks() const noexcept { return clocks_; }
  enum class answer : std::uint8_t { now, later, too_late };
  const std::vector<pull_request>& parked_pulls() const noexcept { return parked_; }
  answer judge(const pull_request& pull) const;
  void release_parked(policy_decisions& out);

 private:
  void release_own(std::uint32_t rank, policy_decisions& out);
  bool release(const pull_request& pull, policy_decisions& out);
  // What to apply now that clocks() includes this push. `rank` finished: clock is infinity.
  virtual void decide_apply(std::uint32_t rank, std::uint64_t clock, policy_decisions& out) = 0;
  // Of a push that moves neither clocks().min() nor complete_below(), only who pushed may be
  // answered differently than before: the others who are parked are not asked about again.
  virtual answer decide_pull(const pull_request& pull) const = 0;
  // Whether there is anything to answer with.
  virtual bool has_parameters() const noexcept { return true; }
  virtual void pull_answered(std::uint32_t) {}
  virtual void restored(std::uint64_t) {}
  // After an event: what to ask for on behalf of who is parked.
  virtual void decide_ask(policy_decisions&) {}

  clock_vector clocks_;
  std::vector<pull_request> parked_;  // in order of arrival
  std::vector<std::uint8_t> waits_;   // by rank: whether it is parked
};

// Returns a policy for one chunk. `workers` is the size of the job.
using policy_factory = std::unique_ptr<consistency_policy>(const consistency_spec& spec,
                                                           std::uint32_t workers);
policy_factory make_policy;
// Makes a policy known that is not in the list of policy_traits.hpp, and returns its kind. To
// be called before any job, by one thread.
consistency_kind register_policy(const policy_traits& traits, policy_factory* factory);
// "bsp", "ssp(3)", "async".
std::string to_string(const consistency_spec& spec);

}  // namespace tidegate::policies
