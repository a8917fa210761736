#include "runtime/base/one_port.hpp"

#include <set>

#include <gtest/gtest.h>

namespace tidegate::runtime {
namespace {

using place = std::pair<std::string, std::uint16_t>;

// A system that gives the ports 1, 2, 3, ... in turn.
struct ports {
  std::uint16_t last = 0;
  std::set<place> in_use;
  std::set<std::string> away;

  one_port<place> listen(const std::vector<std::string>& addresses) {
    return listen_at_one_port<place>(
        addresses,
        [this](const std::string& address, std::uint16_t port) -> expected<place> {
          if (away.contains(address)) return fail(errc::unavailable, address + " is away");
          const place wanted(address, port == 0 ? ++last : port);
          if (in_use.contains(wanted))
            return fail(errc::already_exists, address + " is in use");
          return wanted;
        },
        [](const place& listens) { return listens.second; });
  }
};

TEST(one_port, is_the_same_at_all_addresses) {
  const auto all = ports{}.listen({"a", "b", "c"});
  EXPECT_EQ(all.listeners, (std::vector<place>{{"a", 1}, {"b", 1}, {"c", 1}}));
  EXPECT_TRUE(all.failures.empty());
}

TEST(one_port, is_another_where_it_is_in_use) {
  ports system;
  system.in_use = {{"b", 1}, {"c", 2}};
  EXPECT_EQ(system.listen({"a", "b", "c"}).listeners,
            (std::vector<place>{{"a", 3}, {"b", 3}, {"c", 3}}));
}

TEST(one_port, leaves_out_an_address_that_is_away) {
  ports system;
  system.away = {"a"};
  auto all = system.listen({"a", "b"});
  EXPECT_EQ(all.listeners, (std::vector<place>{{"b", 1}}));
  ASSERT_EQ(all.failures.size(), 1U);
  EXPECT_EQ(all.failures[0].message(), "a is away");
  system.away = {"a", "b"};
  EXPECT_TRUE(system.listen({"a", "b"}).listeners.empty());
}

TEST(one_port, ends_where_every_port_is_in_use) {
  ports system;
  for (std::uint16_t port = 1; port < 100; ++port) system.in_use.emplace("b", port);
  const auto all = system.listen({"a", "b"});
  EXPECT_EQ(all.listeners.size(), 1U);
  EXPECT_EQ(all.failures.size(), 1U);
}

}  // namespace
}  // namespace tidegate::runtime
