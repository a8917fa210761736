#include "runtime/base/list_name.hpp"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace tidegate::runtime {
namespace {

// As another SipHash with 128 bits has it, which with two rounds and four has the published
// results of no bytes and of one.
TEST(list_name, is_siphash) {
  constexpr auto most = ~std::uint64_t{0};
  std::vector<std::uint64_t> many(100);
  std::iota(many.begin(), many.end(), 0);
  using ids = std::vector<std::uint64_t>;
  EXPECT_EQ(name_list(ids{}, 7), (list_name{0x106dbf13c2b1d17c, 0x65a7c77bf515f7e3}));
  EXPECT_EQ(name_list(ids{1}, 7), (list_name{0xc0dcbde3b26182a0, 0x90acaadff60b985c}));
  EXPECT_EQ(name_list(ids{1, 2, 3}, 7), (list_name{0xb796cfedb1b8dbe0, 0xb3d2686aac567353}));
  EXPECT_EQ(name_list(ids{0, most}, 7), (list_name{0x8c72207ed7ead59a, 0x92eb1cace4dd33e9}));
  EXPECT_EQ(name_list(many, 7), (list_name{0x15b6d87c630e743e, 0x45bfdaff83382f10}));
}

TEST(list_name, differs_with_the_key) {
  const std::vector<std::uint64_t> ids = {1, 2, 3};
  EXPECT_NE(name_list(ids, 1), name_list(ids, 2));
}

}  // namespace
}  // namespace tidegate::runtime
