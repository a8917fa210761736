// The shell of the coordinator on a port that writes down what it is told.
#include "actors/coordinator/coordinator_shell.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/actors/coordinator/recording_port.hpp"

namespace tidegate::actors {
namespace {

using runtime::errc;
using runtime::status;

constexpr std::uint64_t token = 7;

policies::cluster_spec small() {
  policies::cluster_spec spec;
  spec.name = "c";
  spec.shards = 1;
  policies::job_spec job;
  job.name = "a";
  job.workers = 1;
  spec.jobs.push_back(job);
  return spec;
}

policies::cluster_spec moving() {
  auto spec = small();
  spec.slots = 1;
  return spec;
}

class coordinator_shell_test : public testing::Test {
 protected:
  explicit coordinator_shell_test(const policies::cluster_spec& spec = small())
      : shell(spec, token, port, port, {}, 1) {
    shell.begin();
  }

  reply_to into(status& result) {
    result = status(errc::timed_out, "no answer yet");
    return [&result](const control_reply& reply) { result = reply.result; };
  }
  void join_shard(control_peer peer, std::uint32_t incarnation = 1) {
    shell.shard_joined({token, peer.process}, 0, {0, incarnation},
                       "s" + std::to_string(incarnation), peer, into(shard));
  }
  void join_worker(control_peer peer, std::uint32_t incarnation = 1) {
    shell.worker_joined({token, peer.process},
                        {.job = "a",
                         .rank = 0,
                         .incarnation = incarnation,
                         .address = "w" + std::to_string(incarnation)},
                        peer, into(worker));
  }
  std::vector<std::string> lost() const {
    std::vector<std::string> found;
    for (const auto& event : shell.core().status(port.now, 0).events)
      if (event.subject == "shard_lost" || event.subject == "worker_lost")
        found.push_back(event.subject);
    return found;
  }

  recording_port port;
  coordinator_shell shell;
  status shard;   // the last answer
  status worker;  // likewise
};

using strings = std::vector<std::string>;

TEST_F(coordinator_shell_test, tells_nobody_what_the_journal_does_not_have) {
  join_shard({1, 1});
  port.take();
  port.holds = true;
  join_worker({2, 2});
  EXPECT_EQ(port.take(), (strings{"watch 2", "write"})) << "the shard is not called yet";
  status asked;
  shell.status({token, 3}, 0, into(asked));
  EXPECT_EQ(asked.code(), errc::timed_out) << "nor does anybody read of it";
  port.holds = false;
  port.held({});
  EXPECT_EQ(port.take().front(), "call 1");
  EXPECT_TRUE(asked.ok());
}

TEST_F(coordinator_shell_test, ends_when_the_journal_cannot_be_written) {
  join_shard({1, 1});
  port.take();
  port.disk = {errc::io_error, "full"};
  join_worker({2, 2});
  EXPECT_EQ(port.take().back(), "end " + port.disk.to_string());
  EXPECT_EQ(worker.code(), errc::unavailable);
  join_shard({3, 1});
  EXPECT_EQ(shard.code(), errc::unavailable);
}

TEST_F(coordinator_shell_test, takes_a_broken_connection_for_an_absence) {
  join_shard({1, 1});
  shell.connection_lost(1, true, "broke");
  EXPECT_TRUE(lost().empty());
  EXPECT_EQ(port.looks, 1);
  port.now += 4 * second;
  shell.look();
  EXPECT_TRUE(lost().empty());
  EXPECT_EQ(port.looks, 2) << "it looks again";
  port.now += second;
  shell.look();
  EXPECT_EQ(lost(), strings{"shard_lost"}) << "half of supervision.unreachable is over";
  EXPECT_EQ(port.looks, 2) << "nobody is absent any more";
}

TEST_F(coordinator_shell_test, loses_at_once_whom_this_host_sees_ending) {
  join_shard({1, 1});
  port.dead = "s1";
  shell.connection_lost(1, true, "broke");
  EXPECT_EQ(lost(), strings{"shard_lost"});
}

TEST_F(coordinator_shell_test, loses_an_absent_member_of_whose_end_the_launcher_tells) {
  join_shard({1, 1});
  shell.connection_lost(1, true, "broke");
  status answer;
  const policies::process_name name{
      .role = policies::process_role::shard, .job = "", .index = 0};
  shell.process_ended({token, 9}, name, 2, into(answer));
  EXPECT_TRUE(lost().empty()) << "that was another process";
  shell.process_ended({token, 9}, name, 1, into(answer));
  EXPECT_TRUE(answer.ok());
  EXPECT_EQ(lost(), strings{"shard_lost"});
}

TEST_F(coordinator_shell_test, ignores_the_end_of_a_connection_that_was_made_again) {
  join_shard({1, 1});
  join_worker({2, 2});
  port.calls.clear();
  port.take();
  join_shard({3, 1});
  EXPECT_TRUE(shard.ok());
  EXPECT_EQ(port.take(), (strings{"watch 3", "call 3", "call 3"}))
      << "what it may not have heard";
  shell.connection_lost(1, true, "broke");
  port.now += 100 * second;
  shell.look();
  EXPECT_TRUE(lost().empty());
  EXPECT_EQ(port.looks, 0);
}

TEST_F(coordinator_shell_test, lets_a_worker_ask_again_whose_answer_was_lost) {
  join_shard({1, 1});
  join_worker({2, 2});
  port.take();
  join_worker({3, 2});
  for (const auto& line : port.take()) EXPECT_NE(line, "expel 2") << "it is the same process";
  status answer;
  shell.tables_opened({token, 2}, "a", 0, {}, into(answer));
  EXPECT_TRUE(answer.ok()) << answer.to_string();
}

TEST_F(coordinator_shell_test, refuses_a_process_whose_place_another_has) {
  join_shard({1, 1});
  join_worker({2, 2});
  port.take();
  join_worker({3, 3}, 2);
  const auto said = port.take();
  EXPECT_EQ(std::count(said.begin(), said.end(), "expel 2"), 1);
  status answer;
  shell.tables_opened({token, 2}, "a", 0, {}, into(answer));
  EXPECT_EQ(answer.code(), errc::refused);
  shell.connection_lost(2, true, "broke");
  EXPECT_TRUE(lost().empty()) << "the rank is another's";
}

TEST_F(coordinator_shell_test, refuses_processes_of_another_run) {
  status answer;
  shell.fail_job({token + 1, 1}, "a", "why", into(answer));
  EXPECT_EQ(answer.code(), errc::refused);
  EXPECT_NE(shell.core().status(port.now, 0).jobs[0].state, policies::job_state::failed);
}

TEST_F(coordinator_shell_test, answers_all_who_wait_when_it_ends) {
  join_worker({2, 2});
  EXPECT_EQ(worker.code(), errc::timed_out) << "there is no shard yet";
  status answer;
  shell.stop({token, 9}, into(answer));
  EXPECT_TRUE(answer.ok());
  EXPECT_EQ(worker.code(), errc::unavailable);
}

// A process with a member of a shard's group, over one connection.
class shard_host_shell_test : public coordinator_shell_test {
 protected:
  shard_host_shell_test() : coordinator_shell_test(moving()) {
    join_host({1, 1}, {});
    join_shard({2, 1});
    port.take();
  }
  void join_host(control_peer peer, const std::vector<policies::hosted_member>& has) {
    shell.host_joined({token, peer.process}, {0, 0}, 1, has, peer, into(host));
  }
  void end_process(std::uint32_t incarnation) {
    status answer;
    shell.process_ended({token, 9},
                        {.role = policies::process_role::shard, .job = "", .index = 0},
                        incarnation, into(answer));
  }
  status host;
};

TEST_F(shard_host_shell_test, is_absent_while_its_connection_is_broken) {
  shell.connection_lost(1, true, "broke");
  shell.connection_lost(2, true, "broke");
  port.now += 4 * second;
  shell.look();
  join_host({3, 1}, {{0, {0, 1}}});
  EXPECT_TRUE(host.ok()) << host.to_string();
  join_shard({4, 1});
  EXPECT_TRUE(shard.ok()) << shard.to_string();
  port.now += 100 * second;
  shell.look();
  EXPECT_TRUE(lost().empty());
}

TEST_F(shard_host_shell_test, is_lost_with_all_it_has_when_it_does_not_come_back) {
  shell.connection_lost(1, true, "broke");
  shell.connection_lost(2, true, "broke");
  port.now += 5 * second;
  shell.look();
  EXPECT_EQ(lost(), strings{"shard_lost"});
  const auto condemned = shell.core().status(port.now, 0).condemned;
  ASSERT_EQ(condemned.size(), 1U) << "the launcher ends it";
  EXPECT_EQ(condemned[0].name.to_string(), "shard-0");
  join_host({3, 1}, {{0, {0, 1}}});
  EXPECT_EQ(host.code(), errc::already_exists) << "its place is to be another's";
}

TEST_F(shard_host_shell_test, is_lost_when_the_launcher_tells_of_its_end) {
  shell.connection_lost(2, true, "broke");
  end_process(2);
  EXPECT_TRUE(lost().empty()) << "that was another process";
  end_process(1);
  EXPECT_EQ(lost(), strings{"shard_lost"});
  shell.connection_lost(1, true, "broke");
  join_host({3, 1}, {});
  EXPECT_EQ(host.code(), errc::already_exists);
}

}  // namespace
}  // namespace tidegate::actors
