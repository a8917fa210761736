// Mistakes that are known, each planted in the cores in turn: a simulation must find every one
// within 10,000 seeds, or its checkers prove nothing.
#include "runtime/base/planted.hpp"

#include <string>

#include <gtest/gtest.h>

#include "launch/simulate/read_scenario.hpp"
#include "tests/sim/simulate.hpp"

namespace tidegate::sim {
namespace {

using runtime::planted_bug;

constexpr std::uint64_t seeds_most = 10'000;

class planted : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { runtime::planted = static_cast<planted_bug>(GetParam()); }
  void TearDown() override { runtime::planted = planted_bug::none; }
};

TEST_P(planted, is_found) {
  simulate_options options;
  options.mix = tidegate::simulate::standard_mix();
  options.seeds = seeds_most;
  options.failures_max = 1;
  const auto found = simulate(options, [] { return true; });
  ASSERT_FALSE(found.failures.empty()) << "not found in " << seeds_most << " seeds";
  const auto& first = found.failures.front();
  const auto why =
      first.stuck ? "stuck"
                  : first.violations.front().promise + ": " + first.violations.front().what;
  RecordProperty("seed", std::to_string(first.seed));
  std::printf("bug %d: seed %llu, %s, %s\n", GetParam(),
              static_cast<unsigned long long>(first.seed), first.scenario.c_str(), why.c_str());
}

INSTANTIATE_TEST_SUITE_P(bugs, planted,
                         testing::Range(1, static_cast<int>(runtime::planted_bug_last) + 1));

}  // namespace
}  // namespace tidegate::sim
