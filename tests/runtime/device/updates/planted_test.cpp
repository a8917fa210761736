// Mistakes that are known, each planted in turn: random operations on an emulated device must
// find every one, or they prove nothing.
#include "runtime/base/planted.hpp"

#include <cstdio>

#include <gtest/gtest.h>

#include "tests/runtime/device/updates/queue_trial.hpp"

namespace tidegate::runtime::devices {
namespace {

constexpr std::uint64_t seeds_most = 100;

class planted_on_devices : public testing::TestWithParam<int> {
 protected:
  ~planted_on_devices() override { planted = planted_bug::none; }
};

TEST_P(planted_on_devices, is_found) {
  for (std::uint64_t seed = 1; seed <= seeds_most; ++seed) {
    planted = static_cast<planted_bug>(GetParam());
    const auto report = tests::try_emulated(seed, emulated_options::pace::caller, true);
    planted = planted_bug::none;
    if (report.problem.empty()) continue;
    std::printf("bug %d, seed %d: %s\n", GetParam(), static_cast<int>(seed),
                report.problem.c_str());
    const auto without = tests::try_emulated(seed, emulated_options::pace::caller, true);
    EXPECT_EQ(without.problem, "") << "it is found where it is, and nowhere else";
    return;
  }
  ADD_FAILURE() << "not found in " << seeds_most << " seeds";
}

INSTANTIATE_TEST_SUITE_P(bugs, planted_on_devices,
                         testing::Range(static_cast<int>(planted_device_bug_first),
                                        static_cast<int>(planted_device_bug_last) + 1));

}  // namespace
}  // namespace tidegate::runtime::devices
