#include "runtime/objects/s3_account.hpp"

#include <map>

#include <gmock/gmock.h>

namespace tidegate::runtime {
namespace {

using testing::HasSubstr;
using testing::Not;

struct s3_account_test : testing::Test {
  expected<s3_account> read() const {
    return read_s3_account([this](const char* name) -> const char* {
      const auto at = variables.find(name);
      return at == variables.end() ? nullptr : at->second.c_str();
    });
  }
  std::string refused() const {
    const auto account = read();
    EXPECT_FALSE(account);
    if (account) return {};
    EXPECT_EQ(account.error().code(), errc::invalid_argument);
    EXPECT_THAT(account.error().message(), Not(HasSubstr("verysecret")));
    return account.error().message();
  }

  std::map<std::string, std::string> variables = {{"AWS_ACCESS_KEY_ID", "id"},
                                                  {"AWS_SECRET_ACCESS_KEY", "verysecret"}};
  const object_place place{.bucket = "abc", .prefix = "d"};
};

TEST_F(s3_account_test, is_of_aws_where_nothing_else_is_said) {
  auto account = read();
  ASSERT_TRUE(account);
  EXPECT_EQ(account->base_url(place), "https://abc.s3.us-east-1.amazonaws.com");
  variables["AWS_DEFAULT_REGION"] = "eu-west-3";
  EXPECT_EQ(read()->base_url(place), "https://abc.s3.eu-west-3.amazonaws.com");
  variables["AWS_REGION"] = "eu-west-1";
  EXPECT_EQ(read()->base_url({.bucket = "a.b", .prefix = {}}),
            "https://s3.eu-west-1.amazonaws.com/a.b")
      << "no certificate has two names before the region's";
}

TEST_F(s3_account_test, is_of_the_endpoint_that_is_meant_for_objects) {
  variables["AWS_ENDPOINT_URL"] = "http://store:9000/";
  EXPECT_EQ(read()->base_url(place), "http://store:9000/abc");
  variables["AWS_ENDPOINT_URL_S3"] = "https://[fd00::1]:9000";
  EXPECT_EQ(read()->base_url(place), "https://[fd00::1]:9000/abc");
  variables["AWS_ENDPOINT_URL_S3"] = "";
  EXPECT_EQ(read()->base_url(place), "http://store:9000/abc");
}

TEST_F(s3_account_test, has_an_endpoint_that_nothing_else_can_be_read_into) {
  for (const char* text :
       {"store:9000", "ftp://store", "http://", "http://user:word@store", "http://store/path",
        "http://store?a", "http://store:", "http://a b", "http://store:0", "http://store:65536",
        "http://store:9x", "http://[::1", "http://[::1]9", "http://[x]",
        "http://store\r\nA: b"}) {
    variables["AWS_ENDPOINT_URL"] = text;
    EXPECT_THAT(refused(), HasSubstr("AWS_ENDPOINT_URL: ")) << text;
  }
}

TEST_F(s3_account_test, needs_keys_that_a_header_can_have) {
  for (const char* name : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}) {
    const auto kept = variables;
    variables.erase(name);
    EXPECT_THAT(refused(), HasSubstr(std::string(name) + " is not set"));
    variables[name] = "";
    EXPECT_THAT(refused(), HasSubstr(std::string(name) + " is not set"));
    variables[name] = "verysecret\r\nHost: other";
    EXPECT_THAT(refused(), HasSubstr("set it again"));
    variables = kept;
  }
  variables["AWS_SESSION_TOKEN"] = "verysecret\n";
  EXPECT_THAT(refused(), HasSubstr("AWS_SESSION_TOKEN"));
  variables.erase("AWS_SESSION_TOKEN");
  variables["AWS_REGION"] = "eu west";
  EXPECT_THAT(refused(), HasSubstr("is no region"));
}

}  // namespace
}  // namespace tidegate::runtime
