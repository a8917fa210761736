// For how long a program has waited: a clock that stands still while it does something else.
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "actors/reactor/reactor.hpp"
#include "runtime/base/record_clock.hpp"
#include "runtime/transport/loopback.hpp"
#include "tests/support/local_cluster.hpp"

namespace tidegate::tests {
namespace {

TEST(waited_by, goes_on_while_the_program_waits_alone) {
  constexpr std::int64_t hour = 3'600'000'000'000;
  actors::process_system process;
  runtime::loopback_network network;
  const auto make_link = [&] {
    return runtime::expected<std::unique_ptr<runtime::link>>(network.make_link());
  };
  const auto started = actors::reactor::start(process.get(), make_link, 0);
  ASSERT_TRUE(started);
  auto& home = *started;
  const auto now = runtime::record_now();
  EXPECT_EQ(home->waited_by(now), 0);
  EXPECT_EQ(home->waited_by(now + hour), 0);
  std::vector<std::int64_t> later;
  {
    actors::reactor::inline_driver driver(*home);
    EXPECT_EQ(home->waited_by(now + hour), 0) << "it may only look";
    EXPECT_TRUE(driver.run_until([&] {
      later.push_back(home->waited_by(now + hour) - home->waited_by(now));
      return later.size() == 3;
    }));
  }
  EXPECT_EQ(later.front(), 0) << "it does not wait yet";
  EXPECT_GT(later.back(), hour / 2);
  const auto waited = home->waited_by(now);
  EXPECT_GT(waited, 0);
  EXPECT_EQ(home->waited_by(now + hour), waited);
}

}  // namespace
}  // namespace tidegate::tests
