// A consistency policy decides when a push is applied and when a pull is answered. There is one
// object per chunk.
//
// Policies are pure state machines. The shard core feeds each exactly one push_arrived per
// (worker, clock), in clock order per worker, and carries out the decisions in the order in
// which they were appended. Adding a policy: one header, one source, one test, one line in
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
#include "policies/model/per_rank.hpp"
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
    measure,      // apply_clock of `clock` waits for the norm of the whole gradient
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

  // Takes in the push (or skip) of `clock` by `rank`; clocks of one rank come as 0, 1, 2, ...
  // (asserted), from where it joined or restore() says.
  void push_arrived(std::uint32_t rank, std::uint64_t clock, policy_decisions& out);
  // Waits for no push of `rank`, which never pushes here. To be called before any push.
  void worker_absent(std::uint32_t rank) { clocks_.finish(rank); }
  // Takes in a pull: appends its answer, or parks it until a later call does. At most one pull
  // per rank is parked at a time (the shard core sees to it).
  void pull_arrived(const pull_request& pull, policy_decisions& out);
  // Waits for no more pushes of `rank`, and appends what had waited for it. A second call
  // changes nothing.
  void worker_finished(std::uint32_t rank, policy_decisions& out);
  // Returns the first clock that any rank pushes, if asked before any push: all may have joined
  // later than 0.
  std::uint64_t first_clock() const noexcept {
    return clocks_.min() == clock_vector::infinity ? 0 : clocks_.min();
  }
  // Appends what is due although nothing has come. To be called after restore(), where all have
  // joined later.
  void catch_up(policy_decisions& out);
  // Returns true if no push of `rank` is waited for: it is absent or has finished.
  bool is_out(std::uint32_t rank) const noexcept {
    return clocks_.through(rank) == clock_vector::infinity;
  }
  // Waits for the pushes of `rank`, which is absent or has finished, from this clock on.
  void worker_joins(std::uint32_t rank, std::uint64_t clock) { clocks_.begin(rank, clock); }
  // Begins where another left off: `through` of each worker, those absent apart, and the
  // clocks of all that have been applied together. Before any push.
  void restore(std::uint64_t version, const std::vector<std::uint64_t>& through);
  // Forgets the parked pull of `rank`, which came back as a new process; its clocks stand.
  void worker_replaced(std::uint32_t rank);

  // Returns the clock below which every worker's updates are in the chunk;
  // clock_vector::infinity when all have finished.
  virtual std::uint64_t complete_below() const noexcept { return clocks_.min(); }
  // Returns the clock below which all pushes of `rank` have been applied.
  virtual std::uint64_t applied_below(std::uint32_t rank) const noexcept {
    return clocks_.through(rank);
  }
  std::size_t parked() const noexcept { return parked_.size(); }

 protected:
  explicit consistency_policy(std::uint32_t workers) : clocks_(workers), waits_(workers) {}
  const clock_vector& clocks() const noexcept { return clocks_; }
  enum class answer : std::uint8_t { now, later, too_late };
  const std::vector<pull_request>& parked_pulls() const noexcept { return parked_; }
  answer judge(const pull_request& pull) const;
  void release_parked(policy_decisions& out);

 private:
  void release_own(std::uint32_t rank, policy_decisions& out);
  bool release(const pull_request& pull, policy_decisions& out);
  // Appends what to apply now that clocks() includes this push; `clock` is infinity if `rank`
  // has finished.
  virtual void decide_apply(std::uint32_t rank, std::uint64_t clock, policy_decisions& out) = 0;
  // Says when a pull is answered. A push that moves neither clocks().min() nor complete_below()
  // may change only what is said of its own rank: parked pulls of others are not judged again.
  virtual answer decide_pull(const pull_request& pull) const = 0;
  // Returns true if there is anything to answer with.
  virtual bool has_parameters() const noexcept { return true; }
  virtual void pull_answered(std::uint32_t) {}
  virtual void restored(std::uint64_t) {}
  // Appends, after an event, what to ask upstream for on behalf of the pulls that are parked.
  virtual void decide_ask(policy_decisions&) {}

  clock_vector clocks_;
  std::vector<pull_request> parked_;  // in order of arrival
  per_rank<std::uint8_t> waits_;      // whether it is parked
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
