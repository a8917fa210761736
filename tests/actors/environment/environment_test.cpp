#include "actors/environment/environment.hpp"

#include <cstdlib>
#include <map>

#include <gmock/gmock.h>

#include "policies/protocol/protocol_version.hpp"

namespace tidegate::actors {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Reads what the launcher sets for a worker, but for one variable; an empty value: not set.
runtime::expected<worker_environment> read_with(const std::string& name,
                                                const std::string& value) {
  std::map<std::string, std::string> all{{"TIDEGATE_COORDINATOR", "10.0.0.1:4711"},
                                         {"TIDEGATE_PROTOCOL", policies::protocol_text()},
                                         {"TIDEGATE_TOKEN", "0000000000000abc"},
                                         {"TIDEGATE_START_TIMEOUT_MS", "5000"},
                                         {"TIDEGATE_JOB", "mlp"},
                                         {"TIDEGATE_RANK", "3"},
                                         {"TIDEGATE_INCARNATION", "2"}};
  all[name] = value;
  for (const auto& [key, text] : all) {
    if (text.empty())
      ::unsetenv(key.c_str());
    else
      ::setenv(key.c_str(), text.c_str(), 1);
  }
  return read_worker_environment();
}

TEST(environment, of_a_worker) {
  const auto read = read_with("TIDEGATE_RANK", "3");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->node.coordinator_host, "10.0.0.1");
  EXPECT_EQ(read->node.coordinator_port, 4711);
  EXPECT_EQ(read->node.token, 0xabcU);
  EXPECT_EQ(read->node.start_timeout_ms, 5000U);
  EXPECT_EQ(read->job, "mlp");
  EXPECT_EQ(read->rank, 3U);
  EXPECT_EQ(read->incarnation, 2U);
}

TEST(environment, another_protocol_is_refused_and_so_is_none) {
  const auto other = read_with("TIDEGATE_PROTOCOL", "250");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), runtime::errc::invalid_argument);
  EXPECT_EQ(other.error().message(),
            "built for protocol " + policies::protocol_text() +
                ", the launcher speaks 250: rebuild the worker against the installed Tidegate");
  const auto none = read_with("TIDEGATE_PROTOCOL", "");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message(), HasSubstr("does not say which it speaks"));
}

TEST(environment, what_is_missing_or_wrong_is_named) {
  for (const auto* name : {"TIDEGATE_COORDINATOR", "TIDEGATE_TOKEN", "TIDEGATE_JOB",
                           "TIDEGATE_RANK", "TIDEGATE_INCARNATION"}) {
    const auto read = read_with(name, "");
    ASSERT_FALSE(read) << name;
    EXPECT_THAT(read.error().message(), StartsWith(std::string(name) + " is not set"));
  }
  for (const auto* name : {"TIDEGATE_COORDINATOR", "TIDEGATE_TOKEN",
                           "TIDEGATE_START_TIMEOUT_MS", "TIDEGATE_RANK"}) {
    const auto read = read_with(name, "odd");
    ASSERT_FALSE(read) << name;
    EXPECT_THAT(read.error().message(), HasSubstr(name));
  }
}

}  // namespace
}  // namespace tidegate::actors
