#include "launch/agents/own_address.hpp"

#include <gmock/gmock.h>

namespace tidegate::launch {
namespace {

TEST(own_address, is_the_one_that_the_other_sees) {
  EXPECT_EQ(own_address_towards("127.0.0.1").value(), "127.0.0.1");
  EXPECT_EQ(own_address_towards("localhost").value().empty(), false);
}

TEST(own_address, names_what_has_no_address) {
  const auto unknown = own_address_towards("no such host");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message(), testing::HasSubstr("its address 'no such host'"));
}

}  // namespace
}  // namespace tidegate::launch
