#include "launch/text/scalars.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace tidegate::launch {
namespace {

TEST(scalars, unsigned_numbers) {
  EXPECT_EQ(parse_unsigned("0"), 0U);
  EXPECT_EQ(parse_unsigned("18446744073709551615"), ~0ULL);
  for (const auto* bad : {"", "-1", "+1", "1.0", "0x10", "1 ", "18446744073709551616"}) {
    EXPECT_FALSE(parse_unsigned(bad)) << bad;
  }
}

TEST(scalars, bytes_both_ways) {
  for (const std::uint64_t n :
       {0ULL, 64ULL, 1000ULL, 1024ULL, 65536ULL, 1ULL << 20U, 3ULL << 20U, 5ULL << 30U}) {
    EXPECT_EQ(parse_bytes(format_bytes(n)), n);
  }
  EXPECT_EQ(format_bytes(256 * 1024), "256KiB");
  EXPECT_EQ(format_bytes(1000), "1000");
  EXPECT_EQ(parse_bytes("4GiB"), 4ULL << 30U);
  for (const auto* bad : {"", "KiB", "1 KiB", "1kB", "1.5MiB", "99999999999999999999MiB",
                          "18446744073709551615KiB"}) {
    EXPECT_FALSE(parse_bytes(bad)) << bad;
  }
}

TEST(scalars, durations_both_ways) {
  for (const std::uint64_t n : {0ULL, 1ULL, 999ULL, 1500ULL, 30'000ULL, 120'000ULL}) {
    EXPECT_EQ(parse_duration_ms(format_duration_ms(n)), n) << format_duration_ms(n);
  }
  EXPECT_EQ(parse_duration_ms("2m"), 120'000U);
  EXPECT_EQ(parse_duration_ms("250ms"), 250U);
  for (const auto* bad : {"", "30", "s", "1h", "-1s", "1.5s"}) {
    EXPECT_FALSE(parse_duration_ms(bad)) << bad;
  }
}

TEST(scalars, reals_both_ways) {
  for (const float x : {0.0F, 0.1F, -2.5F, 1e-8F, 3.4028235e38F, 0.333333343F}) {
    EXPECT_EQ(parse_real(format_real(x)), x);
  }
  EXPECT_EQ(parse_real("+1"), 1.0F);
  EXPECT_TRUE(std::isnan(*parse_real(".NaN")));
  EXPECT_TRUE(std::isinf(*parse_real("-.inf")));
  EXPECT_TRUE(std::isinf(*parse_real("1e40")));
  for (const auto* bad : {"", "x", "1,5", "1e", "--1", "+"})
    EXPECT_FALSE(parse_real(bad)) << bad;
}

}  // namespace
}  // namespace tidegate::launch
