#include "launch/door/door_key.hpp"

#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>

namespace tidegate::launch {
namespace {

using runtime::errc;
using testing::HasSubstr;

const std::string secret = "0123456789abcdef0123456789abcdef";

class key_file : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  const std::string& with(const std::string& text, mode_t mode) {
    std::ofstream(path_) << text;
    ::chmod(path_.c_str(), mode);
    return path_;
  }

 private:
  std::string path_ =
      std::filesystem::temp_directory_path() / ("door-key-" + std::to_string(::getpid()));
};

TEST_F(key_file, is_the_same_whatever_its_ends) {
  const auto key = door_key_of(secret);
  ASSERT_TRUE(key);
  EXPECT_EQ(*read_door_key(with("\n " + secret + "\n", 0600)), *key);
  EXPECT_NE(*door_key_of(secret + "0"), *key);
}

TEST_F(key_file, is_refused_where_others_may_read_it) {
  for (const mode_t mode : {0644, 0620, 0602}) {
    const auto key = read_door_key(with(secret, mode));
    ASSERT_FALSE(key);
    EXPECT_THAT(key.error().message(), HasSubstr("others may read or change this key"));
  }
  EXPECT_TRUE(read_door_key(with(secret, 0440))) << "a group that only reads";
}

TEST_F(key_file, is_refused_when_it_is_short_or_not_there) {
  EXPECT_THAT(read_door_key(with(secret.substr(1), 0600)).error().message(),
              HasSubstr("has 31 characters"));
  EXPECT_EQ(read_door_key("/nowhere/key").error().code(), errc::not_found);
}

TEST(door_key, that_is_drawn_is_another_each_time) {
  const auto drawn = draw_door_key();
  ASSERT_TRUE(drawn);
  EXPECT_EQ(drawn->size(), 64U);
  EXPECT_EQ(drawn->find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(*draw_door_key(), *drawn);
  EXPECT_TRUE(door_key_of(*drawn));
}

}  // namespace
}  // namespace tidegate::launch
