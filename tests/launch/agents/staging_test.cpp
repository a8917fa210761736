// What a host lacks it copies, whole or not at all.
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <set>
#include <sstream>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>

#include "launch/agents/file_server.hpp"
#include "launch/agents/stage_here.hpp"
#include "tests/support/temporary.hpp"

namespace tidegate::launch {
namespace {

namespace fs = std::filesystem;
using runtime::errc;

void write(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << text;
}

std::string read(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

policies::cluster_spec cluster_of(const std::vector<std::string>& stage) {
  policies::cluster_spec spec;
  spec.jobs.emplace_back().name = "j";
  spec.jobs.back().stage = stage;
  return spec;
}

TEST(list_staged, has_each_file_of_folders_once_with_its_hash) {
  const tests::temporary_folder folder;
  write(folder.path("p/run"), "program");
  fs::permissions(folder.path("p/run"), fs::perms(0755));
  write(folder.path("p/data/deep/x"), "abc");
  write(folder.path("empty"), "");
  const auto all = list_staged(
      cluster_of({folder.path("p"), folder.path("p/../p/run"), folder.path("empty")}));
  ASSERT_TRUE(all) << all.error().message();
  ASSERT_EQ(all->size(), 3U);
  EXPECT_EQ((*all)[0].path, folder.path("empty"));
  EXPECT_EQ((*all)[1].path, folder.path("p/data/deep/x"));
  EXPECT_EQ((*all)[1].bytes, 3U);
  // FIPS 180-2, appendix B.1
  EXPECT_EQ((*all)[1].sha256,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ((*all)[2].path, folder.path("p/run"));
  EXPECT_EQ((*all)[2].mode, 0755U);
}

TEST(list_staged, follows_links_and_leaves_out_folders_of_runs) {
  const tests::temporary_folder folder;
  write(folder.path("elsewhere/x"), "abc");
  write(folder.path("p/runs/mine/cluster.yaml"), "cluster:");
  write(folder.path("p/runs/mine/events.jsonl"), "");
  write(folder.path("p/runs/mine/launcher.json"), "token");
  fs::create_directory_symlink(folder.path("elsewhere"), folder.path("p/linked"));
  fs::create_symlink("nowhere", folder.path("p/dangling"));
  const auto all = list_staged(cluster_of({folder.path("p")}));
  ASSERT_TRUE(all) << all.error().message();
  ASSERT_EQ(all->size(), 1U);
  EXPECT_EQ((*all)[0].path, folder.path("p/linked/x"));
  fs::create_directory_symlink(folder.path("p"), folder.path("p/itself"));
  EXPECT_FALSE(list_staged(cluster_of({folder.path("p")})));
}

TEST(list_staged, refuses_names_that_arrive_as_others) {
  const tests::temporary_folder folder;
  write(folder.path("p/\xff"), "abc");
  const auto all = list_staged(cluster_of({folder.path("p")}));
  ASSERT_FALSE(all);
  EXPECT_THAT(all.error().message(), testing::HasSubstr("its name is no UTF-8"));
}

TEST(list_staged, names_the_job_and_what_is_not_there) {
  const tests::temporary_folder folder;
  const auto all = list_staged(cluster_of({folder.path("none")}));
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code(), errc::not_found);
  EXPECT_EQ(all.error().message(),
            "jobs.j.stage: " + folder.path("none") + ": there is no such file or folder");
  ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);
  const auto pipe = list_staged(cluster_of({folder.path("pipe")}));
  ASSERT_FALSE(pipe);
  EXPECT_THAT(pipe.error().message(), testing::HasSubstr("is neither a file nor a folder"));
}

TEST(is_here, is_true_of_the_same_bytes_that_may_be_run) {
  const tests::temporary_folder folder;
  write(folder.path("run"), "abc");
  fs::permissions(folder.path("run"), fs::perms(0755));
  const auto file = list_staged(cluster_of({folder.path("run")}))->front();
  EXPECT_TRUE(is_here(file, [] { return true; }));
  fs::permissions(folder.path("run"), fs::perms(0644));
  EXPECT_FALSE(is_here(file, [] { return true; }));
  fs::permissions(folder.path("run"), fs::perms(0755));
  write(folder.path("run"), "abd");
  EXPECT_FALSE(is_here(file, [] { return true; }));
  fs::remove(folder.path("run"));
  EXPECT_FALSE(is_here(file, [] { return true; }));
}

// A launcher that has files, and an agent to whose host they are to come.
class staging : public testing::Test {
 protected:
  staging() {
    const std::string large(std::size_t{3} << 20U, 'x');
    add("bin/run", "program", 0755);
    add("data/large", large, 0644);
    add("data/none", "", 0600);
    EXPECT_EQ(::pipe2(input_, O_CLOEXEC | O_NONBLOCK), 0);
  }
  ~staging() override {
    if (launcher_.joinable()) launcher_.join();
    for (const auto end : input_) ::close(end);
  }

  // As they would be listed where the launcher runs, which has other paths here.
  void add(const std::string& name, const std::string& text, mode_t mode) {
    write(folder_.path("there/" + name), text);
    ::chmod(folder_.path("there/" + name).c_str(), mode);
    auto file = list_staged(cluster_of({folder_.path("there/" + name)}))->front();
    there_.push_back(file);
    file.path = folder_.path("here/" + name);
    config_.staged.push_back(file);
  }
  std::string here(const std::string& name) const { return folder_.path("here/" + name); }

  // Serves until the agent closes the connection.
  runtime::expected<runtime::unique_fd> connect() {
    ++connections_;
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    launcher_ = std::thread([this, end = ends[1]] {
      frame_connection agent{runtime::unique_fd(end)};
      file_server files(there_);
      std::vector<std::string> texts;
      for (bool is_open = true; is_open;) {
        pollfd waited{.fd = agent.fd(),
                      .events = static_cast<short>(files.is_sending() ? POLLIN | POLLOUT
                                                                      : agent.awaits()),
                      .revents = 0};
        ::poll(&waited, 1, -1);
        texts.clear();
        is_open = agent.read(texts);
        for (const auto& text : texts) {
          const auto request = parse_file_request(text);
          ASSERT_TRUE(request && request->host == "blue");
          if (request->file) {
            ASSERT_TRUE(files.take(*request->file, agent));
          }
        }
        files.send_some(agent);
      }
    });
    return runtime::unique_fd(ends[0]);
  }
  runtime::expected<staging_outcome> stage(std::uint32_t unreachable_ms = 10'000) {
    agent_links links;
    links.connect = [this](const std::string&, std::uint16_t, const agent_link_options&) {
      return connects_ ? connects_() : connect();
    };
    config_.host = "blue";
    return stage_here(config_, links, {.unreachable_ms = unreachable_ms}, input_[0],
                      signals_.get());
  }
  std::size_t files_here() const {
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path("here")))
      count += entry.is_regular_file() ? 1 : 0;
    return count;
  }

  tests::temporary_folder folder_;
  std::vector<staged_file> there_;
  agent_config config_;
  std::function<runtime::expected<runtime::unique_fd>()> connects_;
  std::thread launcher_;
  int connections_ = 0;
  int input_[2];
  runtime::unique_fd signals_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

TEST_F(staging, copies_what_is_not_there_over_one_connection) {
  const auto outcome = stage();
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->files, 3U);
  EXPECT_EQ(connections_, 1);
  for (const auto* name : {"bin/run", "data/large", "data/none"}) {
    EXPECT_EQ(read(here(name)), read(folder_.path(std::string("there/") + name)));
    EXPECT_EQ(fs::status(here(name)).permissions(),
              fs::status(folder_.path(std::string("there/") + name)).permissions());
  }
  EXPECT_EQ(files_here(), 3U) << "no parts are left";
}

TEST_F(staging, asks_nobody_where_everything_is_there) {
  for (const auto& file : config_.staged) {
    const auto name = file.path.substr(here("").size());
    write(file.path, read(folder_.path("there/" + name)));
    ::chmod(file.path.c_str(), file.mode);
  }
  const auto outcome = stage();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->files, 0U);
  EXPECT_EQ(connections_, 0);
}

TEST_F(staging, replaces_what_is_another) {
  write(here("bin/run"), "older");
  write(here("data/none"), "");
  const auto outcome = stage();
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->files, 2U);
  EXPECT_EQ(read(here("bin/run")), "program");
}

TEST_F(staging, takes_no_file_that_has_changed_since_it_was_listed) {
  write(here("bin/run"), "older");
  write(folder_.path("there/bin/run"), "progrxm");
  const auto changed = stage();
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code(), errc::corrupt);
  EXPECT_THAT(changed.error().message(),
              testing::HasSubstr(here("bin/run") + ": what arrives is not what was listed"));
  EXPECT_EQ(read(here("bin/run")), "older");
  EXPECT_EQ(files_here(), 1U);
}

TEST_F(staging, says_what_the_launcher_cannot_read) {
  write(folder_.path("there/data/large"), "short");
  const auto outcome = stage();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().message(),
            "on the launcher's host: " + folder_.path("there/data/large") +
                ": it is shorter than it was as the run began");
}

TEST_F(staging, says_what_cannot_be_written) {
  write(folder_.path("here/bin"), "a file where a folder is to be");
  const auto outcome = stage();
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message(),
              testing::HasSubstr(here("bin/run") + ": cannot be written: Not a directory"));
}

TEST_F(staging, ends_when_nothing_comes_and_when_nobody_wants_it) {
  runtime::unique_fd silent;
  connects_ = [&]() -> runtime::expected<runtime::unique_fd> {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    silent = runtime::unique_fd(ends[1]);
    return runtime::unique_fd(ends[0]);
  };
  const auto late = stage(10);
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message(),
              testing::HasSubstr("while " + here("bin/run") +
                                 " is copied: the launcher has sent nothing for 10 ms"));
  ::close(std::exchange(input_[1], -1));
  const auto unwanted = stage();
  ASSERT_FALSE(unwanted);
  EXPECT_THAT(unwanted.error().message(), testing::HasSubstr("standard input has ended"));
  EXPECT_EQ(files_here(), 0U);
  ::eventfd_write(signals_.get(), 1);
  const auto ended = stage();
  ASSERT_FALSE(ended);
  EXPECT_THAT(ended.error().message(), testing::HasSubstr("a signal ends this agent"));
}

TEST_F(staging, hears_of_a_launcher_that_goes_away_in_the_middle) {
  connects_ = [&]() -> runtime::expected<runtime::unique_fd> {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    frame_connection goes{runtime::unique_fd(ends[1])};
    goes.send("dpro");
    return runtime::unique_fd(ends[0]);
  };
  const auto outcome = stage();
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message(),
              testing::HasSubstr("the launcher has closed the connection"));
  EXPECT_EQ(files_here(), 0U);
}

TEST_F(staging, says_that_a_pipe_has_taken_the_place_of_a_file) {
  fs::remove(folder_.path("there/bin/run"));
  ASSERT_EQ(::mkfifo(folder_.path("there/bin/run").c_str(), 0600), 0);
  const auto outcome = stage();
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message(), testing::HasSubstr("is neither a file nor a folder"));
}

TEST(file_request, is_nothing_else) {
  for (const auto* text : {"", "{", "[]", "{}", R"({"host": "a"})", R"({"host": 1, "file": 2})",
                           R"({"host": "a", "file": -1})"})
    EXPECT_FALSE(parse_file_request(text)) << text;
  const auto request = parse_file_request(request_text({.host = "a", .file = 7}));
  ASSERT_TRUE(request);
  EXPECT_EQ(request->host, "a");
  EXPECT_EQ(request->file, 7U);
  const auto compares = parse_file_request(request_text({.host = "a", .file = std::nullopt}));
  ASSERT_TRUE(compares);
  EXPECT_FALSE(compares->file);
}

TEST(staged_files, says_at_once_that_there_are_more_files_than_an_agent_can_be_told_of) {
  std::set<std::string> paths;
  for (int i = 0; i < 200'000; ++i) paths.insert("/data/images/" + std::to_string(i) + ".png");
  EXPECT_TRUE(check_staged_text(paths).ok());
  for (int i = 0; i < 200'000; ++i) paths.insert("/data/more/" + std::to_string(i) + ".png");
  const auto refused = check_staged_text(paths);
  EXPECT_EQ(refused.code(), runtime::errc::over_limit);
  EXPECT_NE(refused.message().find("there are 400000 files"), std::string::npos)
      << refused.message();
}

}  // namespace
}  // namespace tidegate::launch
