// Known mistakes in writing, finding and removing checkpoints, each planted in turn: the world
// of disks that fail must find every one, or it proves nothing.
#include <string>

#include <gtest/gtest.h>

#include "runtime/base/planted.hpp"
#include "tests/launch/simulate/checkpoint_world.hpp"

namespace tidegate::sim {
namespace {

using runtime::planted_bug;

constexpr std::uint64_t seeds_most = 10'000;

class planted_checkpoint : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { runtime::planted = static_cast<planted_bug>(GetParam()); }
  void TearDown() override { runtime::planted = planted_bug::none; }
};

TEST_P(planted_checkpoint, is_found) {
  for (std::uint64_t seed = 0; seed < seeds_most; ++seed) {
    const auto found = run_checkpoint_world(seed);
    if (found.failure.empty()) continue;
    RecordProperty("seed", std::to_string(seed));
    std::printf("bug %d: seed %llu, %s\n", GetParam(), static_cast<unsigned long long>(seed),
                found.failure.c_str());
    return;
  }
  FAIL() << "not found in " << seeds_most << " seeds";
}

INSTANTIATE_TEST_SUITE_P(bugs, planted_checkpoint,
                         testing::Range(static_cast<int>(runtime::planted_checkpoint_bug_first),
                                        static_cast<int>(runtime::planted_checkpoint_bug_last) +
                                            1));

}  // namespace
}  // namespace tidegate::sim
