// Whatever happens to a host, its agent and their connection: what is ordered is carried out
// once and in order, what is reported arrives once and in order, and what counts as dead is
// dead. Planted mistakes are found.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "runtime/base/planted.hpp"
#include "runtime/base/rng.hpp"
#include "tests/policies/agent/host_run.hpp"

namespace tidegate::policies {
namespace {

// Connections break at any moment, agents die, hosts are cut off. Returns in which way the
// launcher believes what is not so; an empty text if in none.
std::string mistake_of(std::uint64_t seed) {
  const auto is_prefix = [](const numbers& part, const numbers& all) {
    return part.size() <= all.size() && std::equal(part.begin(), part.end(), all.begin());
  };
  runtime::rng random(seed);
  host_run run(random.below(2) == 0);
  run.patience = unreachable + static_cast<std::int64_t>(random.below(500)) * millisecond;
  run.begin();
  const bool by_others = run.starts.empty();
  if (by_others) run.start(0);
  numbers ordered, said;  // since the host came up last
  std::uint32_t number = 0;
  std::size_t downs = 0;
  for (int i = 0; i < 300; ++i) {
    const auto drawn = random.below(100);
    if (drawn < 40 && run.contact.is_up()) {
      ordered.push_back(++number);
      run.order(number);
    } else if (drawn < 70 && run.agent && run.contact.is_up()) {
      said.push_back(++number);
      run.report(number);
    } else if (drawn < 74) {
      run.cut();
    } else if (drawn < 82) {
      run.reachable = !run.reachable;
      if (!run.reachable) run.cut();
    } else if (drawn < 83 && run.agent) {
      run.kill_agent();
    } else if (drawn < 85) {
      run.start_stray();
    } else {
      run.pass(static_cast<std::int64_t>(random.below(400)) * millisecond);
    }
    if (!run.agent && by_others) run.start(0);
    run.carry_out();
    if (run.downs.size() != downs) {
      downs = run.downs.size();
      ordered.clear();
      said.clear();
    }
    if (!is_prefix(run.reported, said)) return "a report is lost, or comes twice";
    if (run.stray_admitted) return "an agent of another start is the host's";
    const bool is_there = run.contact.is_up() && run.agent && run.connection != 0;
    if (is_there && !is_prefix(run.carried_out, ordered)) return "an order of another launcher";
    if (!run.contact.is_up() && run.agent &&
        run.silent_for() > run.patience + 50 * millisecond && !run.carried_out.empty())
      return "processes outlive their launcher";
  }
  run.reachable = true;
  for (int i = 0; i < 12; ++i) {
    run.pass(unreachable);
    if (!run.agent && by_others) run.start(0);
  }
  if (!run.contact.is_up()) return "the host does not come up";
  if (run.downs.size() != downs) return "";
  if (run.carried_out != ordered) return "orders are lost";
  return run.reported == said ? "" : "reports are lost";
}

TEST(agent, is_believed_rightly_whatever_happens) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) EXPECT_EQ(mistake_of(seed), "") << seed;
}

class planted_agent : public testing::TestWithParam<int> {};

TEST_P(planted_agent, is_found) {
  runtime::planted = static_cast<runtime::planted_bug>(GetParam());
  std::string found;
  for (std::uint64_t seed = 1; seed <= 300 && found.empty(); ++seed) found = mistake_of(seed);
  runtime::planted = runtime::planted_bug::none;
  EXPECT_NE(found, "");
}

INSTANTIATE_TEST_SUITE_P(agent_bugs, planted_agent,
                         testing::Range(static_cast<int>(runtime::planted_agent_bug_first),
                                        static_cast<int>(runtime::planted_agent_bug_last) + 1));

}  // namespace
}  // namespace tidegate::policies
