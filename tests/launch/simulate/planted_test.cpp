// Mistakes that are known, each planted in the cores in turn: a simulation must find every one
// within 10,000 seeds, or its checkers prove nothing. The search begins with the seed that
// found the mistake before, as a search from the first seed takes minutes.
#include "runtime/base/planted.hpp"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "launch/simulate/cluster/simulate.hpp"
#include "launch/simulate/read_scenario.hpp"
#include "tests/launch/simulate/planted_seeds.hpp"

namespace tidegate::sim {
namespace {

using runtime::planted_bug;

constexpr std::uint64_t seeds_most = 10'000;

class planted : public testing::TestWithParam<int> {};

// Clusters of the mix are too small for mistakes of size, keep neither state nor spares, do not
// clip by the norm, step on the host, push whole tables, call no functions, and have no rows.
std::vector<scenario> mix_for(planted_bug bug) {
  if (bug < runtime::planted_size_bug_first) return tidegate::simulate::standard_mix();
  auto mix = tidegate::simulate::all_scenarios();
  std::erase_if(mix, [&](const scenario& of) {
    if (of.hosts_of_rack.high > 0) return true;
    if (bug == runtime::planted_opening_bug) return of.opened_in_turns == 0;
    if (of.opened_in_turns > 0) return true;
    if (runtime::is_bug_of_surveys(bug)) return of.hosts_apart == 0;
    if (of.hosts_apart > 0) return true;
    if (runtime::is_bug_of_endings(bug)) return of.cancellations.high == 0;
    if (of.cancellations.high > 0) return true;
    if (runtime::is_bug_of_mirrors(bug)) return of.mirror_every.high == 0;
    if (of.mirror_every.high > 0) return true;
    if (runtime::is_bug_of_hosts(bug)) return of.host_faults.high == 0;
    if (of.host_faults.high > 0) return true;
    if (of.clips > 0 && of.rows > 0) return true;
    if (bug >= runtime::planted_row_call_bug_first) return of.calls == 0 || of.rows == 0;
    if (of.calls > 0 && of.rows > 0) return true;
    if (bug == runtime::planted_reduction_bug) return of.reductions == 0;
    if (bug >= runtime::planted_list_bug_first) return of.ahead == 0;
    if (of.reductions > 0) return true;
    if (bug >= runtime::planted_ahead_bug_first) return of.ahead == 0;
    if (of.ahead > 0) return true;
    if (bug >= runtime::planted_delta_bug_first) return of.full_every.high <= 1;
    if (bug >= runtime::planted_lifetime_bug_first) return of.lifetimes == 0;
    if (of.lifetimes > 0) return true;
    if (bug >= runtime::planted_row_bug_first) return of.rows == 0;
    if (of.rows > 0) return true;
    if (bug >= runtime::planted_call_bug_first) return of.calls == 0;
    if (of.calls > 0) return true;
    if (bug >= runtime::planted_range_bug_first) return of.ranges == 0;
    if (of.ranges > 0) return true;
    if (bug >= runtime::planted_shard_device_bug_first) return of.on_devices == 0;
    if (bug >= runtime::planted_norm_bug_first) return of.clips == 0;
    if (bug >= runtime::planted_spare_bug_first) return of.spares.high == 0;
    return bug >= runtime::planted_state_bug_first ? of.keeping == 0 : of.name != "many_tables";
  });
  for (auto& of : mix) of.weight = 1;
  return mix;
}

// The seed that is being tried, which a process that ends by an assertion leaves behind.
using seed_counter = std::atomic<std::uint64_t>;

seed_counter* shared_counter() {
  auto* memory = ::mmap(nullptr, sizeof(seed_counter), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) seed_counter(0);
}

// Clusters that have nothing but rows, on devices.
std::vector<scenario> rows_on_devices() {
  auto mix = tidegate::simulate::all_scenarios();
  std::erase_if(mix, [](const scenario& of) { return of.rows == 0; });
  for (auto& of : mix) {
    of.weight = 1;
    of.on_devices = 1;
  }
  return mix;
}

// Returns whether one of `count` seeds from `first_seed` on finds the mistake.
bool find(planted_bug bug, const std::vector<scenario>& mix, std::uint64_t first_seed,
          std::uint64_t count, seed_counter& seed) {
  runtime::planted = bug;
  seed = first_seed - 1;
  const simulate_options options{
      .first_seed = first_seed, .seeds = count, .mix = mix, .failures_max = 1};
  const auto found = simulate(options, [&] {
    ++seed;
    return true;
  });
  if (found.failures.empty()) return false;
  const auto& first = found.failures.front();
  const auto why =
      first.stuck ? "stuck"
                  : first.violations.front().promise + ": " + first.violations.front().message;
  std::printf("bug %d: %s, %s\n", static_cast<int>(bug), first.scenario.c_str(), why.c_str());
  std::fflush(stdout);
  return true;
}

// In a process of its own: assertions stay on, and a failed assertion is a finding, too.
bool found_by_a_child(planted_bug bug, const std::vector<scenario>& mix,
                      std::uint64_t first_seed, std::uint64_t count, seed_counter& seed) {
  const auto child = ::fork();
  if (child == 0) ::_exit(find(bug, mix, first_seed, count, seed) ? 0 : 1);
  int end = 0;
  EXPECT_GT(child, 0);
  EXPECT_EQ(::waitpid(child, &end, 0), child);
  return (WIFSIGNALED(end) && WTERMSIG(end) == SIGABRT) ||
         (WIFEXITED(end) && WEXITSTATUS(end) == 0);
}

TEST_P(planted, is_found) {
  const auto bug = static_cast<planted_bug>(GetParam());
  auto* seed = shared_counter();
  ASSERT_NE(seed, nullptr);
  const auto known = planted_seeds().find(bug);
  const bool has_seed = known != planted_seeds().end();
  const auto mix = mix_for(bug);
  if (has_seed && found_by_a_child(bug, mix, known->second, 1, *seed)) {
    EXPECT_LE(known->second, seeds_most);
    return;
  }
  ASSERT_TRUE(found_by_a_child(bug, mix, 1, seeds_most, *seed))
      << "not found in " << seeds_most << " seeds";
  ADD_FAILURE() << "it is found by another seed than planted_seeds.hpp says: {bug("
                << GetParam() << "), " << seed->load() << "}";
}

// What a device does later than it is asked to shows in tables of rows, too.
TEST(planted_on_devices, is_found_in_rows) {
  auto* seed = shared_counter();
  ASSERT_NE(seed, nullptr);
  for (const auto bug :
       {planted_bug::frame_ahead_of_its_work, planted_bug::device_payload_not_kept})
    EXPECT_TRUE(found_by_a_child(bug, rows_on_devices(), 1, 200, *seed))
        << static_cast<int>(bug);
}

INSTANTIATE_TEST_SUITE_P(bugs, planted,
                         testing::Range(1, static_cast<int>(runtime::planted_bug_last) + 1));
INSTANTIATE_TEST_SUITE_P(size_bugs, planted,
                         testing::Range(static_cast<int>(runtime::planted_size_bug_first),
                                        static_cast<int>(runtime::planted_size_bug_last) + 1));
INSTANTIATE_TEST_SUITE_P(state_bugs, planted,
                         testing::Range(static_cast<int>(runtime::planted_state_bug_first),
                                        static_cast<int>(runtime::planted_state_bug_last) + 1));
INSTANTIATE_TEST_SUITE_P(spare_bugs, planted,
                         testing::Range(static_cast<int>(runtime::planted_spare_bug_first),
                                        static_cast<int>(runtime::planted_spare_bug_last) + 1));
INSTANTIATE_TEST_SUITE_P(norm_bugs, planted,
                         testing::Range(static_cast<int>(runtime::planted_norm_bug_first),
                                        static_cast<int>(runtime::planted_norm_bug_last) + 1));

INSTANTIATE_TEST_SUITE_P(
    device_bugs, planted,
    testing::Range(static_cast<int>(runtime::planted_shard_device_bug_first),
                   static_cast<int>(runtime::planted_shard_device_bug_last) + 1));

INSTANTIATE_TEST_SUITE_P(range_bugs, planted,
                         testing::Range(static_cast<int>(runtime::planted_range_bug_first),
                                        static_cast<int>(runtime::planted_range_bug_last) + 1));
INSTANTIATE_TEST_SUITE_P(call_bugs, planted,
                         testing::Range(static_cast<int>(runtime::planted_call_bug_first),
                                        static_cast<int>(runtime::planted_call_bug_last) + 1));
INSTANTIATE_TEST_SUITE_P(row_bugs, planted,
                         testing::Range(static_cast<int>(runtime::planted_row_bug_first),
                                        static_cast<int>(runtime::planted_row_bug_last) + 1));
INSTANTIATE_TEST_SUITE_P(ahead_bugs, planted,
                         testing::Range(static_cast<int>(runtime::planted_ahead_bug_first),
                                        static_cast<int>(runtime::planted_ahead_bug_last) + 1));
INSTANTIATE_TEST_SUITE_P(list_bugs, planted,
                         testing::Range(static_cast<int>(runtime::planted_list_bug_first),
                                        static_cast<int>(runtime::planted_list_bug_last) + 1));
INSTANTIATE_TEST_SUITE_P(row_call_bugs, planted,
                         testing::Range(static_cast<int>(runtime::planted_row_call_bug_first),
                                        static_cast<int>(runtime::planted_row_call_bug_last) +
                                            1));
// Of the others there is nothing to see but in policies_agent_test.
INSTANTIATE_TEST_SUITE_P(
    host_bugs, planted,
    testing::Values(static_cast<int>(planted_bug::agent_forgets_reports_when_cut_off),
                    static_cast<int>(planted_bug::orders_not_sent_again),
                    static_cast<int>(planted_bug::agent_outlives_its_launcher),
                    static_cast<int>(planted_bug::host_lost_without_its_processes),
                    static_cast<int>(planted_bug::process_stays_on_lost_host)));
INSTANTIATE_TEST_SUITE_P(survey_bugs, planted,
                         testing::Range(static_cast<int>(runtime::planted_survey_bug_first),
                                        static_cast<int>(runtime::planted_survey_bug_last) +
                                            1));
INSTANTIATE_TEST_SUITE_P(mirror_bugs, planted,
                         testing::Range(static_cast<int>(runtime::planted_mirror_bug_first),
                                        static_cast<int>(runtime::planted_mirror_bug_last) +
                                            1));
INSTANTIATE_TEST_SUITE_P(ending_bugs, planted,
                         testing::Range(static_cast<int>(runtime::planted_ending_bug_first),
                                        static_cast<int>(runtime::planted_ending_bug_last) +
                                            1));
INSTANTIATE_TEST_SUITE_P(reduction_bugs, planted,
                         testing::Values(static_cast<int>(runtime::planted_reduction_bug)));
INSTANTIATE_TEST_SUITE_P(opening_bugs, planted,
                         testing::Values(static_cast<int>(runtime::planted_opening_bug)));

}  // namespace
}  // namespace tidegate::sim
