// What makes a simulated job slow for some clocks, and whether policies/attribution names it of
// what the coordinator knows: the worker or the shard, and why; nobody where nothing does. One
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/simulate/cluster/network.hpp"
#include "launch/simulate/cluster/plan.hpp"
#include "launch/simulate/cluster/schedule.hpp"
#include "policies/attribution/attribution.hpp"
#include "policies/attribution/late_checkpoint.hpp"

namespace tidegate::sim {

struct world;

class slowness {
 public:
  // Looks at the coordinator's status now and then, from now on.
  slowness(world& where, const slow_plan& drawn);

  // A worker begins to compute, for so long if nothing is slow. Returns for how long it does.
  // What is slow begins and ends while all workers compute, so that all see the same of it.
  nanoseconds computes(std::uint32_t rank, std::uint64_t clock, nanoseconds takes);
  // Of that, the collector of garbage of its language.
  nanoseconds collects(std::uint32_t rank, std::uint64_t clock) const;
  // A shard has a part of a checkpoint to write. Returns how much longer it takes.
  nanoseconds writes(process_id shard) const;
  // A shard makes a step. Returns for how long it is busy with it.
  nanoseconds steps(process_id shard, std::uint64_t clock);
  // Tells the checker where somebody else is named, or for another reason.
  void judge();

 private:
  // So much time of the run, and where it went.
  struct period {
    nanoseconds begin = 0;
    nanoseconds end = 0;
    policies::job_period account;
  };
  void look();
  void note(const period& last) const;
  void begin();
  void end();
  void stop() const;
  bool is_of_worker() const;
  bool is_longer(std::uint32_t rank, std::uint64_t clock) const;
  process_id slow_process() const;
  // Of periods that overlap with this stretch of time.
  std::vector<policies::held_up_by> held_up(nanoseconds begin, nanoseconds end) const;
  std::optional<policies::late_checkpoint> late_checkpoint(nanoseconds begin,
                                                           nanoseconds end) const;
  std::vector<policies::job_period> within(nanoseconds begin, nanoseconds end) const;
  void expect_nobody(nanoseconds begin, nanoseconds end) const;
  void expect_the_disk() const;
  void expect_the_cause() const;
  void expect_what_it_cost(const policies::held_up_by& of) const;

  world& world_;
  const slow_plan plan_;
  std::uint32_t number_;                // the rank, or the shard's
  std::optional<nanoseconds> settled_;  // when a clock was made that is like the next
  std::vector<std::uint64_t> reached_;  // the clock that each worker computes, by rank
  std::optional<nanoseconds> began_;
  std::optional<nanoseconds> ended_;
  std::optional<nanoseconds> known_;  // when shards have told of its last clock
  std::uint64_t stepped_ = 0;         // the last clock that took time, plus one
  policies::rate_window since_period_;
  nanoseconds period_begin_ = 0;
  std::vector<period> periods_;
};

}  // namespace tidegate::sim
