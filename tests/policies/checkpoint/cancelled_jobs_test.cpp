#include "policies/checkpoint/cancelled_jobs.hpp"

#include <gmock/gmock.h>

#include "launch/simulate/cluster/disk.hpp"
#include "policies/checkpoint/run_epoch.hpp"

namespace tidegate::policies {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(cancelled_jobs, are_on_record_beside_epochs) {
  sim::draws chance(1);
  sim::disk disk(chance);
  sim::disk_view folder(disk);
  EXPECT_THAT(*cancelled_jobs(folder), IsEmpty());
  ASSERT_TRUE(record_epoch(folder, 1).ok());
  ASSERT_TRUE(record_cancelled(folder, "mlp").ok());
  ASSERT_TRUE(record_epoch(folder, 2).ok());
  ASSERT_TRUE(record_cancelled(folder, "mlp").ok()) << "once more";
  ASSERT_TRUE(record_cancelled(folder, "cnn-2").ok());
  EXPECT_THAT(*cancelled_jobs(folder), UnorderedElementsAre("mlp", "cnn-2"));
  EXPECT_EQ(*last_epoch(folder), 2U);
}

TEST(cancelled_jobs, are_there_for_good_once_that_was_said_whatever_crashes) {
  for (std::uint64_t calls = 1; calls < 12; ++calls) {
    sim::draws chance(calls);
    sim::disk disk(chance);
    bool was_said = false;
    {
      sim::disk_view folder(disk);
      disk.turn_off_after(calls);
      was_said = record_cancelled(folder, "mlp").ok();
      disk.turn_on();
      disk.crash();
    }
    sim::disk_view folder(disk);
    const auto found = cancelled_jobs(folder);
    ASSERT_TRUE(found);
    if (was_said) {
      EXPECT_THAT(*found, ElementsAre("mlp")) << calls;
    }
    ASSERT_TRUE(record_cancelled(folder, "mlp").ok()) << calls;
    EXPECT_THAT(*cancelled_jobs(folder), ElementsAre("mlp")) << calls;
  }
}

}  // namespace
}  // namespace tidegate::policies
