#include "launch/processes/process_records.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tidegate::launch {
namespace {

using nlohmann::json;
using policies::process_role;

TEST(pids, name_role_job_and_index) {
  const auto list =
      json::parse(pids_json({{.name = {.role = process_role::worker, .job = "mlp", .index = 3},
                              .pid = 99,
                              .started = 12345}}));
  EXPECT_EQ(list, (json{{{"role", "worker"},
                         {"job", "mlp"},
                         {"index", 3},
                         {"pid", 99},
                         {"started", 12345}}}));
  EXPECT_EQ(json::parse(pids_json({})), json::array());
  const auto two =
      json::parse(pids_json({{.pid = 7, .host = 0}, {.pid = 8, .host = 1}}, {"", "blue"}));
  EXPECT_FALSE(two[0].contains("host"));
  EXPECT_EQ(two[1]["host"], "blue");
}

TEST(launcher_mark, is_read_as_it_was_written_also_without_host_and_machine) {
  const policies::launcher_mark mark{.pid = 7,
                                     .started = 8,
                                     .session = 9,
                                     .token = "00ff",
                                     .host = "blue",
                                     .machine = "boot/4026531836"};
  const auto read = parse_launcher(launcher_json(mark));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->host, "blue");
  EXPECT_EQ(read->machine, "boot/4026531836");
  const auto older =
      parse_launcher(R"({"pid": 7, "started": 8, "session": 9, "token": "00ff"})");
  ASSERT_TRUE(older) << older.error().message();
  EXPECT_EQ(older->host, "");
  EXPECT_EQ(older->machine, "");
}

}  // namespace
}  // namespace tidegate::launch
