// Who is hit is who was meant: a pid that has become somebody else's gets no signal.
#include "launch/chaos/members.hpp"

#include <filesystem>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <gmock/gmock.h>

#include "launch/processes/process_table.hpp"
#include "launch/text/files.hpp"
#include "runtime/process/process_stat.hpp"

namespace tidegate::chaos {
namespace {

using launch::parse_pids;
using policies::process_role;
using runtime::errc;

const policies::process_name worker_1{.role = process_role::worker, .job = "mlp", .index = 1};
const policies::process_name shard_0{.role = process_role::shard, .job = "", .index = 0};

TEST(parse_pids, reads_what_the_launcher_writes) {
  const auto all = parse_pids(launch::pids_json({{.name = shard_0, .pid = 11, .started = 1},
                                                 {.name = worker_1, .pid = 22, .started = 2}}));
  ASSERT_TRUE(all) << all.error().message();
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ((*all)[0].name, shard_0);
  EXPECT_EQ((*all)[1].name, worker_1);
  EXPECT_EQ((*all)[1].pid, 22);
}

TEST(parse_pids, knows_every_role) {
  for (const auto role : policies::process_roles) {
    const policies::process_name name{.role = role, .job = "", .index = 2};
    const auto all = parse_pids(launch::pids_json({{.name = name, .pid = 33, .started = 3}}));
    ASSERT_TRUE(all) << to_string(role);
    EXPECT_EQ((*all)[0].name, name);
  }
}

TEST(parse_pids, takes_nothing_else) {
  const std::string word = R"({"role": "shard", "job": "", "index": 0, "started": 1, "pid": )";
  EXPECT_TRUE(parse_pids("[" + word + "12}]"));
  // 0, 1 and -1 would signal the own group, init, everybody.
  for (const auto* pid : {"0", "1", "-1", "\"12\"", "1.5", "4194305", "99999999999999999999"})
    EXPECT_FALSE(parse_pids("[" + word + pid + "}]")) << pid;
  for (const auto* text :
       {"", "{}", "[1]", "[{}]", "[{\"role\": \"shard\"}]",
        R"([{"role": "shard", "job": "", "index": 0, "pid": 12}])",
        R"([{"role": "shard", "job": "", "index": 0, "pid": 12}])",
        R"([{"role": "king", "job": "", "index": 0, "pid": 12, "started": 1}])"})
    EXPECT_FALSE(parse_pids(text)) << text;
}

std::string environ_of(std::initializer_list<std::string> entries) {
  std::string text;
  for (const auto& entry : entries) text += entry + '\0';
  return text;
}

TEST(belongs_to_run, by_what_the_launcher_has_told_it) {
  const std::string run = "TIDEGATE_RUN_DIR=/r", token = "TIDEGATE_TOKEN=1";
  const auto of_worker =
      environ_of({"HOME=/", run, token, "TIDEGATE_JOB=mlp", "TIDEGATE_RANK=1"});
  EXPECT_TRUE(belongs_to_run(of_worker, "/r", worker_1));
  EXPECT_FALSE(belongs_to_run(of_worker, "/r/2", worker_1)) << "another run";
  EXPECT_FALSE(belongs_to_run(of_worker, "/r", {process_role::worker, "mlp", 2}));
  EXPECT_FALSE(belongs_to_run(of_worker, "/r", {process_role::worker, "cnn", 1}));
  EXPECT_FALSE(belongs_to_run(of_worker, "/r", shard_0));
  EXPECT_TRUE(belongs_to_run(environ_of({token, run}), "/r", shard_0));
  EXPECT_FALSE(belongs_to_run(environ_of({run}), "/r", shard_0));
  EXPECT_FALSE(belongs_to_run("", "/r", shard_0)) << "a zombie has no environment";
}

// A folder with a pids.json and real processes.
class a_run : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tidegate-members-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  pid_t start(policies::process_number number, const std::string& run_dir) {
    const auto pid =
        table_.start({number, 1}, worker_1,
                     {.program = "/bin/sleep",
                      .arguments = {"sleep", "1000"},
                      .environment = {"TIDEGATE_RUN_DIR=" + run_dir, "TIDEGATE_TOKEN=1",
                                      "TIDEGATE_JOB=mlp", "TIDEGATE_RANK=1"},
                      .log_path = "/dev/null"});
    EXPECT_TRUE(pid);
    return pid ? *pid : -1;
  }

  // As listed when the process with this pid was another one, that started `earlier`.
  std::vector<policies::chaos_target> living(pid_t pid, std::uint64_t earlier = 0) {
    const auto stat = runtime::stat_of(pid);
    const auto started = stat ? stat->started - earlier : 0;
    EXPECT_TRUE(launch::write_file_atomically(folder_ + "/pids.json",
                                              launch::pids_json({{worker_1, pid, started}})));
    const auto run = members::of_run(folder_);
    EXPECT_TRUE(run);
    auto found = run->living();
    EXPECT_TRUE(found);
    return found ? *found : std::vector<policies::chaos_target>{};
  }

  launch::process_end wait_for_an_end() {
    for (;;) {
      std::vector<pollfd> fds;
      table_.add_to(fds);
      if (::poll(fds.data(), fds.size(), 10'000) <= 0) return {};
      const auto ends = table_.reap();
      if (!ends.empty()) return ends.front();
    }
  }

  std::string folder_;
  launch::process_table table_;
};

TEST_F(a_run, its_process_is_found_stopped_and_killed) {
  const auto pid = start(1, folder_);
  const auto found = living(pid);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].name, worker_1);
  EXPECT_TRUE(send_signal(found[0], SIGSTOP));
  int state = 0;
  ASSERT_EQ(::waitpid(pid, &state, WUNTRACED), pid);
  EXPECT_TRUE(WIFSTOPPED(state));
  EXPECT_TRUE(send_signal(found[0], SIGKILL));
  EXPECT_EQ(wait_for_an_end().code, SIGKILL);
  EXPECT_EQ(send_signal(found[0], SIGKILL).code(), errc::not_found);
  EXPECT_TRUE(living(pid).empty());
}

TEST_F(a_run, a_pid_of_somebody_else_is_left_alone) {
  const auto stranger = start(1, "/another/run");
  EXPECT_TRUE(living(stranger).empty());
  EXPECT_TRUE(living(::getpid()).empty());
  // The same pid with another time of start: another process, as far as one can know.
  const auto own = start(2, folder_);
  EXPECT_TRUE(living(own, 1).empty());
  auto found = living(own);
  ASSERT_EQ(found.size(), 1U);
  found[0].started += 1;
  EXPECT_EQ(send_signal(found[0], SIGKILL).code(), errc::not_found);
  EXPECT_TRUE(table_.reap().empty());
}

TEST_F(a_run, without_a_folder_or_a_list) {
  EXPECT_EQ(members::of_run(folder_ + "/none").error().code(), errc::not_found);
  const auto run = members::of_run(folder_ + "/../" +
                                   std::filesystem::path(folder_).filename().string() + "/");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->run_dir(), folder_);
  EXPECT_EQ(run->living().error().code(), errc::not_found);
  EXPECT_FALSE(run->has_ended());
  EXPECT_TRUE(launch::write_file_atomically(folder_ + "/pids.json", "[{"));
  EXPECT_EQ(run->living().error().code(), errc::corrupt);
  EXPECT_TRUE(launch::write_file_atomically(folder_ + "/result.json", "{}"));
  EXPECT_TRUE(run->has_ended());
}

}  // namespace
}  // namespace tidegate::chaos
