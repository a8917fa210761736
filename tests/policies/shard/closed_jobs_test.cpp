// What is left of a job that has ended before others, on the side that faces its workers.
#include <gtest/gtest.h>

#include "tests/policies/shard/ingress_fixture.hpp"

namespace tidegate::policies {
namespace {

using ranks = std::vector<std::uint32_t>;
using jobs = std::vector<std::uint64_t>;

TEST_F(ingress_of_two, nobody_of_a_closed_job_is_waited_for_and_its_memory_goes_with_the_last) {
  ingress_.peer_lost(1);
  EXPECT_EQ(shell_.forgotten, ranks{}) << "another process may come";
  ingress_.about_job(job, [&](auto& out) { core_.admin().close_job(job, out); });
  ingress_.job_closed(job);
  EXPECT_EQ(shell_.forgotten, ranks{1});
  EXPECT_EQ(ingress_.take_deserted(), jobs{}) << "rank 0 may still read what is there";
  ingress_.connection_broke(0, 100);
  EXPECT_EQ(shell_.forgotten, (ranks{1, 0}));
  EXPECT_EQ(ingress_.take_deserted(), jobs{job});
  EXPECT_EQ(ingress_.take_deserted(), jobs{});
  EXPECT_FALSE(ingress_.is_mending()) << "its connection is not made again";
}

}  // namespace
}  // namespace tidegate::policies
