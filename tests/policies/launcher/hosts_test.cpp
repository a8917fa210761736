// Hosts that are lost and come back: where their processes go.
#include <gmock/gmock.h>

#include "tests/policies/launcher/fixture.hpp"

namespace tidegate::policies::tests {
namespace {

using testing::Contains;
using testing::HasSubstr;

const std::vector<launch_plan::host> three_hosts{
    {.name = "a", .room = {}}, {.name = "b", .room = {}}, {.name = "c", .room = {}}};

bool has_line(const lines& all, const std::string& part) {
  return std::any_of(all.begin(), all.end(),
                     [&](const auto& line) { return line.find(part) != std::string::npos; });
}

TEST(launch_hosts, processes_of_a_lost_host_go_to_the_emptiest) {
  auto run = launched::on_hosts(three_hosts, {0, 1, 1, 2, 2});
  run.host_is_lost(1);
  run.says({running("mlp")});
  run.pass_ms(500);
  const auto seen = run.seen();
  EXPECT_THAT(seen, Contains("note host_lost: host b: no word"));
  // There are three on the first already, with the coordinator and the shard.
  EXPECT_THAT(seen, Contains("start worker-mlp-1 again, 2 on c without its memory"));
  EXPECT_TRUE(has_line(seen, "start worker-mlp-2 again, 2 on "));
  EXPECT_TRUE(has_line(seen, "worker-mlp-1 was lost: host b: no word"));
  EXPECT_FALSE(has_line(seen, "worker-mlp-0"));
}

TEST(launch_hosts, a_process_goes_home_when_its_host_is_back) {
  auto run = launched::on_hosts(three_hosts, {0, 1});
  run.host_is_lost(1);
  run.host_is_up(1);
  run.says({running("mlp")});
  run.pass_ms(500);
  EXPECT_THAT(run.seen(), Contains("start worker-mlp-1 again, 2 on b without its memory"));
}

TEST(launch_hosts, a_process_is_without_its_memory_until_it_has_started_where_it_is_now) {
  auto run = launched::on_hosts(three_hosts, {0, 1});
  run.cannot_start("worker-mlp-1", 1);
  run.host_is_lost(1);
  run.host_is_up(1);
  run.says({running("mlp")});
  run.pass_ms(5000);
  const auto seen = run.seen();
  EXPECT_THAT(seen, Contains("start worker-mlp-1 again, 2 on b without its memory"));
  EXPECT_THAT(seen, Contains("start worker-mlp-1 again, 3 on b without its memory"));
}

TEST(launch_hosts, a_host_takes_as_many_as_it_has_room_for) {
  auto run = launched::on_hosts(
      {{.name = "a", .room = 0}, {.name = "b", .room = {}}, {.name = "c", .room = 1}},
      {0, 1, 1});
  run.host_is_lost(1);
  run.says({running("mlp")});
  run.pass_ms(500);
  auto seen = run.seen();
  EXPECT_THAT(seen, Contains("start worker-mlp-1 again, 2 on c without its memory"));
  EXPECT_FALSE(has_line(seen, "start worker-mlp-2 again"));
  run.host_is_up(1);
  EXPECT_THAT(run.seen(), Contains("start worker-mlp-2 again, 2 on b without its memory"))
      << "it has waited";
}

TEST(launch_hosts, a_process_that_no_host_takes_ends_the_run_after_a_while) {
  auto run = launched::on_hosts({{.name = "a", .room = 0}, {.name = "b", .room = {}}}, {0, 1});
  run.host_is_lost(1);
  run.says({running("mlp")});
  run.pass_ms(20'000);
  EXPECT_FALSE(has_line(run.seen(), "ending"));
  run.pass_ms(20'000);
  const auto seen = run.seen();
  EXPECT_TRUE(has_line(seen,
                       "note ending: no host has had room for worker-mlp-1 for 30s "
                       "(hosts.*.room, cluster.start_timeout): host b: no word"));
}

TEST(launch_hosts, a_process_waits_as_long_however_long_ago_its_home_was_lost) {
  auto run = launched::on_hosts(
      {{.name = "a", .room = 0}, {.name = "b", .room = {}}, {.name = "c", .room = {}}}, {0, 1});
  run.host_is_lost(1);
  run.says({running("mlp")});
  run.pass_ms(100'000);
  EXPECT_TRUE(has_line(run.seen(), "start worker-mlp-1 again, 2 on c"));
  run.host_is_lost(2);
  run.says({running("mlp")});
  run.pass_ms(20'000);
  EXPECT_FALSE(has_line(run.seen(), "ending"));
  run.host_is_up(1);
  EXPECT_TRUE(has_line(run.seen(), "start worker-mlp-1 again, 3 on b"));
}

// Its home is lost as all go back to their checkpoints.
TEST(launch_hosts, a_process_that_waits_in_its_turn_is_started_in_another_epoch) {
  auto run = launched::on_hosts({{.name = "a", .room = 0}, {.name = "b", .room = {}}}, {0, 1},
                                true, true);
  run.ends("shard-0", ending::by_signal);
  run.pass_ms(500);
  run.host_is_lost(1);
  run.all_end({"coordinator-0", "worker-mlp-0"});
  run.pass_ms(500);
  run.ready();
  run.pass_ms(500);
  EXPECT_FALSE(has_line(run.seen(), "start worker-mlp-1"));
  run.host_is_up(1);
  EXPECT_TRUE(has_line(run.seen(), "start worker-mlp-1 again, 2 on b"));
}

TEST(launch_hosts, a_host_that_never_was_there_ends_the_run) {
  auto run = launched::on_hosts(three_hosts, {0, 1}, false);
  run.host_is_lost(1);
  EXPECT_TRUE(has_line(run.seen(), "note ending: host b: no word"));
}

TEST(launch_hosts, a_host_that_is_lost_while_others_start_is_no_mistake) {
  auto run = launched::on_hosts(three_hosts, {0, 1}, false);
  run.host_is_up(0);
  run.host_is_up(1);
  run.host_is_lost(1);
  run.ready();
  const auto seen = run.seen();
  EXPECT_FALSE(has_line(seen, "ending"));
  EXPECT_TRUE(has_line(seen, "start worker-mlp-1 on c"));
}

TEST(launch_hosts, a_job_that_has_ended_needs_no_host) {
  auto run = launched::on_hosts({{.name = "a", .room = 0}, {.name = "b", .room = {}}}, {0, 1});
  run.host_is_lost(1);
  run.says({done("mlp")});
  run.pass_ms(40'000);
  EXPECT_FALSE(has_line(run.seen(), "no host has had room"));
}

}  // namespace
}  // namespace tidegate::policies::tests
