// Links with several addresses, as of hosts that are in several networks.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "runtime/streams/stream_address.hpp"
#include "runtime/streams/stream_link.hpp"
#include "tests/support/go_between.hpp"
#include "tests/support/link_recorder.hpp"

namespace tidegate::runtime {
namespace {

using testing::HasSubstr;

struct end {
  explicit end(std::vector<std::string> addresses) {
    auto opened = open_stream_link({.addresses = std::move(addresses)});
    EXPECT_TRUE(opened) << opened.error().message();
    link = std::move(*opened);
    link->set_sink(&sink);
  }
  tests::recorder sink;
  std::unique_ptr<runtime::link> link;
};

class rails : public testing::Test {
 protected:
  // Returns true if a frame reaches the other end.
  bool arrives(end& from, peer_id peer, end& to) {
    const auto before = to.sink.arrivals.size();
    const auto lost = from.sink.lost.size();
    ++posted_;
    from.link->post(peer, tests::push_header(payload_.size(), posted_), payload_, posted_);
    return tests::until(*from.link, *to.link,
                        [&] {
                          return to.sink.arrivals.size() > before ||
                                 from.sink.lost.size() > lost;
                        }) &&
           to.sink.arrivals.size() == before + 1;
  }

  std::uint64_t posted_ = 0;
  std::vector<std::byte> payload_ = std::vector<std::byte>(1000, std::byte{0x5a});
};

TEST_F(rails, a_link_listens_at_all_its_addresses_at_one_port) {
  end a({"127.0.0.1", "127.0.0.2", "::1"});
  const auto address = parse_stream_address(a.link->address());
  ASSERT_TRUE(address);
  EXPECT_EQ(address->hosts, (std::vector<std::string>{"127.0.0.1", "127.0.0.2", "::1"}));
  for (const auto& host : address->hosts) {
    end b({"127.0.0.1"});
    auto by_one = *address;
    by_one.hosts = {host};
    const auto peer = b.link->connect(to_string(by_one));
    ASSERT_TRUE(peer);
    EXPECT_TRUE(arrives(b, *peer, a)) << host;
  }
}

TEST_F(rails, does_without_an_address_that_is_not_of_this_host) {
  end a({"203.0.113.7", "127.0.0.1"});
  EXPECT_EQ(parse_stream_address(a.link->address())->hosts,
            std::vector<std::string>{"127.0.0.1"});
  const auto opened = open_stream_link({.addresses = {"203.0.113.7"}});
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message(), HasSubstr("203.0.113.7"));
}

// Nothing listens at the second address.
TEST_F(rails, pairs_are_spread_and_a_connection_that_is_made_again_takes_the_next) {
  constexpr int pairs = 24;
  end a({"127.0.0.1"});
  int lost = 0;
  std::vector<std::unique_ptr<end>> others;  // each lives on: its end would be a loss
  for (int i = 0; i < pairs; ++i) {
    auto& b =
        *others.emplace_back(std::make_unique<end>(std::vector<std::string>{"127.0.0.1"}));
    auto address = *parse_stream_address(b.link->address());
    address.hosts.emplace_back("127.0.0.9");
    const auto first = a.link->connect(to_string(address));
    ASSERT_TRUE(first);
    if (arrives(a, *first, b)) continue;
    ++lost;
    EXPECT_THAT(a.sink.lost_why.back().message(), HasSubstr("127.0.0.9"));
    a.link->disconnect(*first);
    const auto again = a.link->connect(to_string(address));
    ASSERT_TRUE(again);
    EXPECT_TRUE(arrives(a, *again, b));
  }
  EXPECT_GT(lost, 0);
  EXPECT_LT(lost, pairs);
}

}  // namespace
}  // namespace tidegate::runtime
