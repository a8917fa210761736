// What a reactor finds that its program did not look for while it computed.
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

TEST(here_since, is_when_the_program_left_until_it_looks) {
  actors::process_system process;
  runtime::loopback_network network;
  const auto make_link = [&] {
    return runtime::expected<std::unique_ptr<runtime::link>>(network.make_link());
  };
  const auto started = actors::reactor::start(process.get(), make_link, 0);
  ASSERT_TRUE(started);
  auto& home = *started;
  home->run_in_background(false);
  constexpr std::int64_t left = 1'000;
  const auto later = runtime::record_now() + 3'600'000'000'000;
  actors::reactor::inline_driver driver(*home);
  home->looks_away(left);
  EXPECT_EQ(home->here_since(later), left);
  std::vector<std::int64_t> found;
  EXPECT_TRUE(driver.run_until([&] {
    found.push_back(home->here_since(later));
    return found.size() == 3;
  }));
  EXPECT_EQ(found.front(), left) << "it looks for the first time";
  EXPECT_EQ(found.back(), later) << "and then all the time";
  EXPECT_LT(home->here_since(later), later) << "until the wait is over";
  EXPECT_GT(home->here_since(later), left);
}

}  // namespace
}  // namespace tidegate::tests
