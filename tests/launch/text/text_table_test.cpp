#include "launch/text/text_table.hpp"

#include <gtest/gtest.h>

namespace tidegate::launch {
namespace {

TEST(text_table, pads_columns_and_trims_lines) {
  EXPECT_EQ(format_table({{"a", "n"}, {"long", "1"}, {"b", "100"}}, {1}),
            "a       n\nlong    1\nb     100\n");
  EXPECT_EQ(format_table({{"a", "x"}, {"bb", ""}}), "a   x\nbb\n");
}

TEST(text_table, bytes_for_people) {
  EXPECT_EQ(bytes_for_people(0), "0 B");
  EXPECT_EQ(bytes_for_people(1023), "1023 B");
  EXPECT_EQ(bytes_for_people(1536), "1.5 KiB");
  EXPECT_EQ(bytes_for_people(1ULL << 42U), "4.0 TiB");
}

}  // namespace
}  // namespace tidegate::launch
