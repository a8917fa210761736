// What `tidegate clocks` says that workers waited for, beside what was made slow in simulated
// clusters: of the spans that the shells which ship note there.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "launch/simulate/cluster/cluster.hpp"
#include "launch/simulate/cluster/draw_plan.hpp"
#include "launch/simulate/read_scenario.hpp"
#include "launch/trace/clock_records.hpp"

namespace tidegate::sim {
namespace {

using launch::clock_record;
using launch::worker_clock;

// Of a job with bsp, as all of this scenario are.
std::vector<clock_record> records_of(const cluster_plan& plan, std::uint64_t seed) {
  std::map<process_id, noted_spans> spans;
  EXPECT_TRUE(run_cluster(plan, seed, false, &spans).violations.empty()) << seed;
  std::vector<launch::process_spans> all;
  for (auto& [id, of] : spans)
    all.push_back({.writer = of.process, .spans = std::move(of.all)});
  return launch::clock_records(all, {{plan.spec.jobs[0].name, 0}}, std::nullopt);
}

std::uint64_t sum_of(const launch::wait_parts& of) {
  return of.gate_ns + of.shard_ns + of.network_ns + of.credit_ns + of.replica_ns;
}

class slow_cluster {
 public:
  slow_cluster(const cluster_plan& plan, std::uint64_t seed)
      : slow_(*plan.slow),
        name_("seed " + std::to_string(seed) + ", cause " +
              std::to_string(static_cast<int>(plan.slow->kind))) {
    const auto of = is_of_worker() ? plan.spec.jobs[0].workers : plan.spec.shards;
    number_ = static_cast<std::uint32_t>(slow_.pick % of);
  }

  // Returns true if the record says so.
  void look_at(const clock_record& record) {
    for (const auto& [rank, worker] : record.workers) {
      SCOPED_TRACE(name_ + ", clock " + std::to_string(record.clock) + ", worker " +
                   std::to_string(rank));
      ASSERT_TRUE(worker.waits) << "shards have noted everything";
      EXPECT_EQ(sum_of(*worker.waits), worker.wait_ns);
      EXPECT_EQ(worker.waits->gate_ns > 0, worker.waits->gate_rank.has_value());
      if (record.clock >= slow_.from && record.clock < slow_.from + slow_.clocks)
        look_at(rank, worker);
    }
  }
  bool has_seen() const { return seen_ > 0; }
  slow_kind kind() const { return slow_.kind; }

 private:
  bool is_of_worker() const {
    return slow_.kind == slow_kind::worker_computes || slow_.kind == slow_kind::worker_link ||
           slow_.kind == slow_kind::worker_stopped;
  }
  void look_at(std::uint32_t rank, const worker_clock& worker) {
    const auto most = static_cast<std::uint64_t>(slow_.extra) / 2;
    const bool is_slow = is_of_worker() && rank == number_;
    const auto& waits = *worker.waits;
    switch (slow_.kind) {
      case slow_kind::worker_computes:
        ++seen_;
        expect_gate(waits, is_slow);
        break;
      case slow_kind::worker_link:
        ++seen_;
        expect_gate(waits, is_slow);
        EXPECT_EQ(waits.network_ns > most, is_slow);
        break;
      case slow_kind::shard_link:
        if (worker.last_shard != number_) break;
        ++seen_;
        EXPECT_GT(waits.network_ns, most);
        break;
      case slow_kind::shard_busy:
        if (worker.last_shard != number_) break;
        ++seen_;
        EXPECT_GT(waits.shard_ns, most);
        break;
      default:
        ++seen_;  // once, in some clock
        break;
    }
  }
  // All but the slow worker wait for it.
  void expect_gate(const launch::wait_parts& waits, bool is_slow) const {
    EXPECT_EQ(waits.gate_ns > static_cast<std::uint64_t>(slow_.extra) / 2, !is_slow);
    EXPECT_EQ(waits.gate_rank == number_, !is_slow);
  }

  const slow_plan slow_;
  const std::string name_;
  std::uint32_t number_ = 0;
  std::size_t seen_ = 0;
};

TEST(clock_waits, say_what_is_slow_in_simulated_clusters) {
  const auto all = simulate::all_scenarios();
  const auto scenario = std::ranges::find(all, "slow_causes", &sim::scenario::name);
  ASSERT_NE(scenario, all.end());
  std::map<slow_kind, std::size_t> seen;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const auto plan = draw_plan(*scenario, seed);
    slow_cluster cluster(plan, seed);
    for (const auto& record : records_of(plan, seed)) cluster.look_at(record);
    seen[cluster.kind()] += cluster.has_seen() ? 1 : 0;
  }
  for (const auto kind : {slow_kind::worker_computes, slow_kind::worker_link,
                          slow_kind::shard_link, slow_kind::shard_busy})
    EXPECT_GE(seen[kind], 5U) << static_cast<int>(kind);
}

}  // namespace
}  // namespace tidegate::sim
