#include "launch/agents/host_folder.hpp"

#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "launch/plan/environment.hpp"
#include "launch/processes/process_records.hpp"

namespace tidegate::launch {
namespace {

namespace fs = std::filesystem;

class host_folder_test : public testing::Test {
 protected:
  void SetUp() override {
    config.run_dir = testing::TempDir() + "host-folder-" + std::to_string(::getpid());
    config.launcher_host = "10.0.0.1";
    config.token = 0xabc;
    config.cluster = "cluster: {}\n";
    fs::create_directory(config.run_dir);
  }
  void TearDown() override { fs::remove_all(config.run_dir); }
  void write_launcher(std::uint64_t token) const {
    std::ofstream(config.run_dir + "/launcher.json")
        << launcher_json({.pid = 1, .token = format_token(token)});
  }
  static mode_t mode_of(const std::string& path) {
    struct stat found {};
    EXPECT_EQ(::stat(path.c_str(), &found), 0) << path;
    return found.st_mode & 0777;
  }

  agent_config config;
  policies::cluster_spec spec;
};

TEST_F(host_folder_test, is_the_run_folder_where_the_launcher_has_written_there) {
  write_launcher(config.token);
  const auto folder = host_folder::open(config, spec);
  ASSERT_TRUE(folder) << folder.error().message();
  EXPECT_TRUE(folder->is_shared());
  EXPECT_EQ(folder->path(), config.run_dir);
  folder->remove();
  EXPECT_TRUE(fs::exists(config.run_dir + "/launcher.json"));
}

TEST_F(host_folder_test, is_the_hosts_own_and_its_users_alone_where_not) {
  write_launcher(config.token + 1);  // of another run
  const auto folder = host_folder::open(config, spec);
  ASSERT_TRUE(folder) << folder.error().message();
  EXPECT_FALSE(folder->is_shared());
  EXPECT_NE(folder->path(), config.run_dir);
  EXPECT_EQ(mode_of(folder->path()), 0700U);
  EXPECT_EQ(mode_of(folder->path() + "/cluster.yaml"), 0600U);
  std::ofstream(folder->path() + "/logs/old.log") << "old";
  const auto next = host_folder::open(config, spec);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->path(), folder->path()) << "the next agent finds what this one has left";
  EXPECT_TRUE(fs::exists(next->path() + "/logs/old.log")) << "its processes may live";
  EXPECT_TRUE(next->clear_logs().ok());
  EXPECT_FALSE(fs::exists(next->path() + "/logs/old.log"));
  auto beside = config;
  beside.host = "another";
  EXPECT_NE(host_folder::open(beside, spec)->path(), folder->path()) << "on one machine";
  host_folder::open(beside, spec)->remove();
  auto other = config;
  other.launcher_host = "10.0.0.9";
  EXPECT_NE(host_folder::open(other, spec)->path(), folder->path());
  host_folder::open(other, spec)->remove();
  next->remove();
  EXPECT_FALSE(fs::exists(folder->path()));
}

TEST_F(host_folder_test, is_no_folder_that_others_may_write) {
  const auto path = host_folder::open(config, spec)->path();
  fs::permissions(path, fs::perms::others_all, fs::perm_options::add);
  const auto refused = host_folder::open(config, spec);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), runtime::errc::refused);
  EXPECT_THAT(refused.error().message(), testing::HasSubstr(path));
  fs::remove_all(path);
}

TEST_F(host_folder_test, needs_no_run_folder_where_it_sees_the_folder_of_checkpoints) {
  const auto shared = config.run_dir + "/shared";
  config.host = "green";
  config.run = "00c0ffee00c0ffee";
  spec.jobs.emplace_back().name = "mlp";
  spec.jobs.back().checkpoint.emplace().path = shared;
  fs::create_directories(shared + "/mlp/run");
  std::ofstream(shared + "/mlp/run/run-00000000000000aa") << "of another run\n";
  const auto refused = host_folder::open(config, spec);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(),
              testing::AllOf(testing::StartsWith("host green: jobs.mlp.checkpoint.path: this "
                                                 "host does not see the folder " +
                                                 shared),
                             testing::HasSubstr("run-00c0ffee00c0ffee is not there")));
  std::ofstream(shared + "/mlp/run/run-00c0ffee00c0ffee") << "of this run\n";
  const auto folder = host_folder::open(config, spec);
  ASSERT_TRUE(folder) << folder.error().message();
  EXPECT_FALSE(folder->is_shared());
  EXPECT_FALSE(fs::exists(shared + "/mlp/run/host-green")) << "what it has tried to write";
  folder->remove();
  // A folder of this name cannot be written as a file, whoever the user is.
  fs::create_directory(shared + "/mlp/run/host-green");
  EXPECT_THAT(host_folder::open(config, spec).error().message(),
              testing::HasSubstr("this host cannot write to " + shared));
  // It is asked where the run folder is shared, too.
  write_launcher(config.token);
  EXPECT_FALSE(host_folder::open(config, spec));
}

TEST_F(host_folder_test, takes_no_checkpoints_that_others_do_not_see) {
  spec.jobs.emplace_back().name = "mlp";
  spec.jobs.back().checkpoint.emplace();
  const auto refused = host_folder::open(config, spec);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(),
              testing::HasSubstr("job mlp writes checkpoints there"));
}

}  // namespace
}  // namespace tidegate::launch
