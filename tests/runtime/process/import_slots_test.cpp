#include "runtime/process/import_slots.hpp"

#include <cerrno>
#include <unistd.h>
#include <zlib.h>

#include <gtest/gtest.h>

namespace tidegate::runtime {
namespace {

int closes = 0;

int count_close(int fd) {
  ++closes;
  return ::close(fd);
}

// Whether zlib closes files by the function above.
bool zlib_calls_ours() {
  const auto before = closes;
  gzFile file = gzopen("/dev/null", "wb");
  EXPECT_NE(file, nullptr);
  gzclose(file);
  return closes > before;
}

TEST(import_slots, a_library_calls_what_its_slot_says) {
  const auto* inside = reinterpret_cast<const void*>(&zlibVersion);
  ASSERT_FALSE(zlib_calls_ours());
  EXPECT_EQ(redirect_import(inside, "close", reinterpret_cast<void*>(&count_close)), 1U);
  EXPECT_TRUE(zlib_calls_ours());
  const auto before = closes;
  EXPECT_EQ(::close(-1), -1);  // ours, which nobody has redirected
  EXPECT_EQ(closes, before);
  EXPECT_EQ(redirect_import(inside, "close", reinterpret_cast<void*>(&::close)), 1U);
  EXPECT_FALSE(zlib_calls_ours());
}

TEST(import_slots, changes_nothing_where_there_is_no_such_library_or_import) {
  const auto* inside = reinterpret_cast<const void*>(&zlibVersion);
  auto* ours = reinterpret_cast<void*>(&count_close);
  EXPECT_EQ(redirect_import(inside, "no_such_function", ours), 0U);
  EXPECT_EQ(redirect_import(nullptr, "close", ours), 0U);
}

}  // namespace
}  // namespace tidegate::runtime
