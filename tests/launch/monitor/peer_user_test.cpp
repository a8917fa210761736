#include "launch/monitor/peer_user.hpp"

#include <gmock/gmock.h>

namespace tidegate::launch {
namespace {

// As /proc/net/tcp has them.
const std::string table =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
    "   0: 0100007F:24F8 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000 0 1\n"
    "   1: 0100007F:C350 0100007F:24F8 01 00000000:00000000 00:00000000 00000000  1001 0 2\n"
    "   2: 0100007F:24F8 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000 0 3\n";

TEST(peer_user, is_that_of_the_other_end) {
  EXPECT_EQ(user_in_table(table, "0100007F:C350", "0100007F:24F8"), 1001U);
  EXPECT_EQ(user_in_table(table, "0100007F:24F8", "0100007F:C350"), 1000U);
  EXPECT_EQ(user_in_table(table, "0100007F:C350", "00000000:0000"), std::nullopt);
}

TEST(peer_user, is_not_known_of_what_has_no_line) {
  for (const auto* broken : {"", "\n\n", "x", "1: a b", "1: a b 01 0 0 0", "1: a b 01 0 0 0 -1",
                             "1: a b 01 0 0 0 12x"})
    EXPECT_EQ(user_in_table(broken, "a", "b"), std::nullopt) << broken;
  EXPECT_EQ(user_in_table("1: a b 01 0 0 0 12", "a", "b"), 12U);
  EXPECT_EQ(user_of_peer(-1), std::nullopt);
}

}  // namespace
}  // namespace tidegate::launch
