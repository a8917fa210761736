// Mistakes that are known, each planted in the cores in turn: a simulation must find every one
// within 10,000 seeds, or its checkers prove nothing.
#include "runtime/base/planted.hpp"

#include <csignal>
#include <cstdio>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "launch/simulate/cluster/simulate.hpp"
#include "launch/simulate/read_scenario.hpp"

namespace tidegate::sim {
namespace {

using runtime::planted_bug;

constexpr std::uint64_t seeds_most = 10'000;

class planted : public testing::TestWithParam<int> {};

// Clusters of the mix are too small for mistakes of size.
std::vector<scenario> mix_for(planted_bug bug) {
  if (bug < runtime::planted_size_bug_first) return tidegate::simulate::standard_mix();
  auto mix = tidegate::simulate::all_scenarios();
  std::erase_if(mix, [&](const scenario& of) { return of.name != "many_tables"; });
  for (auto& of : mix) of.weight = 1;
  return mix;
}

// False: it is not there.
bool find(planted_bug bug) {
  runtime::planted = bug;
  simulate_options options;
  options.mix = mix_for(bug);
  options.seeds = seeds_most;
  options.failures_max = 1;
  const auto found = simulate(options, [] { return true; });
  if (found.failures.empty()) return false;
  const auto& first = found.failures.front();
  const auto why =
      first.stuck ? "stuck"
                  : first.violations.front().promise + ": " + first.violations.front().message;
  std::printf("bug %d: seed %llu, %s, %s\n", static_cast<int>(bug),
              static_cast<unsigned long long>(first.seed), first.scenario.c_str(), why.c_str());
  std::fflush(stdout);
  return true;
}

// In a process of its own: assertions stay on, and one that fails is a finding, too.
TEST_P(planted, is_found) {
  const auto child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(find(static_cast<planted_bug>(GetParam())) ? 0 : 1);
  int end = 0;
  ASSERT_EQ(::waitpid(child, &end, 0), child);
  const bool asserted = WIFSIGNALED(end) && WTERMSIG(end) == SIGABRT;
  EXPECT_TRUE(asserted || (WIFEXITED(end) && WEXITSTATUS(end) == 0))
      << "not found in " << seeds_most << " seeds";
}

INSTANTIATE_TEST_SUITE_P(bugs, planted,
                         testing::Range(1, static_cast<int>(runtime::planted_bug_last) + 1));
INSTANTIATE_TEST_SUITE_P(size_bugs, planted,
                         testing::Range(static_cast<int>(runtime::planted_size_bug_first),
                                        static_cast<int>(runtime::planted_size_bug_last) + 1));

}  // namespace
}  // namespace tidegate::sim
