// What is read before anything is sent; tests/e2e/otlp_test.py sends.
#include "launch/monitor/http_post.hpp"

#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>

namespace tidegate::launch {
namespace {

using runtime::errc;
using testing::ElementsAre;
using testing::HasSubstr;

struct read_headers_test : testing::Test {
  ~read_headers_test() override { std::filesystem::remove(path); }
  void write(const std::string& text, mode_t mode = 0600) {
    std::ofstream(path) << text;
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
  }
  const std::string path =
      testing::TempDir() + "/headers-" + std::to_string(::getpid()) + ".txt";
};

TEST_F(read_headers_test, has_a_header_in_each_line) {
  write("# of the collector\nAuthorization: Bearer a:b\r\n\nX-Scope-OrgID:1");
  const auto headers = read_headers(path);
  ASSERT_TRUE(headers) << headers.error().message();
  EXPECT_THAT(*headers, ElementsAre("Authorization: Bearer a:b", "X-Scope-OrgID:1"));
  write("");
  EXPECT_THAT(*read_headers(path), ElementsAre());
}

TEST_F(read_headers_test, refuses_what_is_none_and_does_not_show_it) {
  for (const auto* wrong : {"a-secret\n", ": a-secret\n", "a-secret:\n", "a-secret: \n",
                            "a secret: b\n", "X: a-secret\tb\n", "X: a-secret\rY: b\n"}) {
    write("A: b\n" + std::string(wrong));
    const auto headers = read_headers(path);
    ASSERT_FALSE(headers) << wrong;
    EXPECT_EQ(headers.error().code(), errc::invalid_argument);
    EXPECT_EQ(headers.error().message(),
              path + ":2: is no header; a line \"Name: value\" is wanted");
  }
  std::string many;
  for (int i = 0; i < 65; ++i) many += "X: y\n";
  write(many);
  EXPECT_THAT(read_headers(path).error().message(), HasSubstr("more than 64 headers"));
}

TEST_F(read_headers_test, are_of_their_owner_alone) {
  write("A: b\n", 0640);
  EXPECT_EQ(read_headers(path).error().code(), errc::refused);
  EXPECT_EQ(read_headers(path + ".none").error().code(), errc::not_found);
}

}  // namespace
}  // namespace tidegate::launch
