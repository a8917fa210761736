// How a process that was started beforehand gets its place: a forked child is the spare.
#include "runtime/process/spare.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <poll.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

namespace tidegate::runtime {
namespace {

constexpr int wait_ms = 10'000;

unique_fd file_with(const std::string& text) {
  unique_fd file(::memfd_create("spare_test", MFD_CLOEXEC));
  EXPECT_EQ(::write(file.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  return file;
}

std::string content_of(int fd) {
  std::string text(100, '\0');
  const auto n = ::pread(fd, text.data(), text.size(), 0);
  text.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  return text;
}

bool has_variable(const char* name, const std::string& value) {
  const char* found = launch_variable(name);
  return found != nullptr && found == value;
}

// A child process that was started as a spare; it exits with what `program` returns.
class spare_child {
 public:
  explicit spare_child(const std::function<int()>& program) {
    auto ends = spare_channel::make();
    EXPECT_TRUE(ends);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setenv(spare_variable, std::to_string(ends->second.get()).c_str(), 1);
      ::close(ends->first.fd());
      ::_exit(program());
    }
    channel_ = std::make_unique<spare_channel>(std::move(ends->first));
  }

  pid_t pid() const { return pid_; }
  spare_channel& channel() { return *channel_; }
  void close() { channel_.reset(); }
  // Blocks until the child says something, or ends.
  void await_word() {
    pollfd waits{.fd = channel_->fd(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&waits, 1, wait_ms), 1);
  }
  int exit_status() const {
    int result = 0;
    EXPECT_EQ(::waitpid(pid_, &result, 0), pid_);
    return WIFEXITED(result) ? WEXITSTATUS(result) : -1;
  }

 private:
  pid_t pid_ = -1;
  std::unique_ptr<spare_channel> channel_;
};

TEST(spare, a_process_waits_for_its_place_and_has_its_variables_descriptors_and_output) {
  ::setenv("SPARE_TEST_RANK", "before", 1);
  ::setenv("SPARE_TEST_JOB", "mlp", 1);
  spare_child child([] {
    if (!is_spare()) return 10;
    if (!await_place({}).ok()) return 11;
    if (is_spare()) return 12;
    if (!has_variable("SPARE_TEST_RANK", "2")) return 13;
    if (!has_variable("SPARE_TEST_JOB", "mlp")) return 14;
    if (taken_launch_variables().size() != 3) return 15;
    const std::string beats = launch_variable("SPARE_TEST_BEATS");
    if (!beats.ends_with(":500") || content_of(std::stoi(beats)) != "beats") return 16;
    if (content_of(std::stoi(launch_variable("SPARE_TEST_STATE"))) != "state") return 17;
    if (::write(1, "out", 3) != 3 || ::write(2, "err", 3) != 3) return 18;
    return await_place({}).ok() ? 0 : 19;  // it has its place
  });
  child.await_word();
  const auto word = child.channel().take_word();
  ASSERT_TRUE(word);
  EXPECT_EQ(word->pid, child.pid());
  EXPECT_FALSE(child.channel().take_word()) << "it has said so";
  const auto beats = file_with("beats"), state = file_with("state"), output = file_with("");
  const spare_place place{
      .variables = {{"SPARE_TEST_RANK", "2"},
                    {"SPARE_TEST_BEATS", "{}:500"},
                    {"SPARE_TEST_STATE", "{}"}},
      .descriptors = {{"SPARE_TEST_BEATS", beats.get()}, {"SPARE_TEST_STATE", state.get()}},
      .output = output.get()};
  EXPECT_TRUE(child.channel().give(place).ok());
  EXPECT_EQ(child.exit_status(), 0);
  EXPECT_EQ(content_of(output.get()), "outerr");
}

TEST(spare, a_place_may_come_before_the_process_waits) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const unique_fd read_end(ends[0]), write_end(ends[1]);
  spare_child child([&] {
    char go = 0;
    if (::read(read_end.get(), &go, 1) != 1 || !await_place({}).ok()) return 10;
    return has_variable("SPARE_TEST_RANK", "7") ? 0 : 11;
  });
  EXPECT_TRUE(
      child.channel()
          .give({.variables = {{"SPARE_TEST_RANK", "7"}}, .descriptors = {}, .output = -1})
          .ok());
  ASSERT_EQ(::write(write_end.get(), "g", 1), 1);
  EXPECT_EQ(child.exit_status(), 0);
}

// The launcher closes its end when the process has become a worker, and may not have read that
// it waits.
TEST(spare, a_place_is_not_lost_where_nobody_reads_that_the_process_waits) {
  int said[2], go[2];
  ASSERT_EQ(::pipe2(said, O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(go, O_CLOEXEC), 0);
  spare_child child([&] {
    const auto let_the_launcher_close = [&] {
      char word = 0;
      EXPECT_EQ(::write(said[1], "w", 1), 1);
      EXPECT_EQ(::read(go[0], &word, 1), 1);
      return false;
    };
    const auto placed = await_place({.interrupted = let_the_launcher_close, .may_copy = false});
    return placed.ok() && has_variable("SPARE_TEST_RANK", "3") ? 0 : 10;
  });
  char word = 0;
  ASSERT_EQ(::read(said[0], &word, 1), 1);
  EXPECT_TRUE(
      child.channel()
          .give({.variables = {{"SPARE_TEST_RANK", "3"}}, .descriptors = {}, .output = -1})
          .ok());
  child.close();
  ASSERT_EQ(::write(go[1], "g", 1), 1);
  EXPECT_EQ(child.exit_status(), 0);
  for (const int fd : {said[0], said[1], go[0], go[1]}) ::close(fd);
}

TEST(spare, a_process_hears_that_there_will_be_no_place) {
  spare_child child([] { return await_place({}).code() == errc::cancelled ? 0 : 10; });
  child.close();
  EXPECT_EQ(child.exit_status(), 0);
}

// A child that was started as a spare and has no files of its own.
spare_child child_without_files(const std::function<int()>& program) {
  return spare_child([program] {
    for (int fd = 3; fd < 1024; ++fd)
      if (std::to_string(fd) != std::getenv(spare_variable)) ::close(fd);
    return program();
  });
}

TEST(spare, a_process_makes_copies_that_take_places_of_their_own) {
  adopt_orphans();
  auto child = child_without_files([] {
    if (!await_place({}).ok()) return 10;
    return std::stoi(launch_variable("SPARE_TEST_RANK"));
  });
  child.await_word();
  const auto original = child.channel().take_word();
  ASSERT_TRUE(original && original->can_copy);
  std::vector<pid_t> copies;
  for (const int rank : {5, 6}) {
    auto ends = spare_channel::make();
    ASSERT_TRUE(ends);
    ASSERT_TRUE(child.channel().ask_for_copy(ends->second.get()).ok());
    ends->second.reset();
    pollfd said{.fd = ends->first.fd(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&said, 1, wait_ms), 1);
    const auto word = ends->first.take_word();
    ASSERT_TRUE(word);
    EXPECT_FALSE(word->can_copy);
    EXPECT_NE(word->pid, child.pid());
    EXPECT_EQ(::getpgid(word->pid), word->pid);
    ASSERT_TRUE(ends->first
                    .give({.variables = {{"SPARE_TEST_RANK", std::to_string(rank)}},
                           .descriptors = {},
                           .output = -1})
                    .ok());
    int result = 0;
    EXPECT_EQ(::waitpid(word->pid, &result, 0), word->pid) << "it is this process's child";
    EXPECT_EQ(WEXITSTATUS(result), rank);
  }
  ASSERT_TRUE(
      child.channel()
          .give({.variables = {{"SPARE_TEST_RANK", "7"}}, .descriptors = {}, .output = -1})
          .ok());
  EXPECT_EQ(child.exit_status(), 7);
}

TEST(spare, a_process_with_threads_or_files_makes_no_copies) {
  const auto says_that_it_can = [](const std::function<void()>& before, bool may = true) {
    auto child = child_without_files([&] {
      before();
      return await_place({.interrupted = {}, .may_copy = may, .fork = {}}).code() ==
                     errc::cancelled
                 ? 0
                 : 10;
    });
    child.await_word();
    const auto word = child.channel().take_word();
    child.close();
    EXPECT_EQ(child.exit_status(), 0);
    return word && word->can_copy;
  };
  EXPECT_TRUE(says_that_it_can([] {}));
  EXPECT_TRUE(says_that_it_can([] { ::open("/dev/null", O_RDONLY); }));
  EXPECT_TRUE(says_that_it_can([] { std::thread([] {}).join(); }));
  EXPECT_FALSE(says_that_it_can([] {}, false));
  EXPECT_FALSE(says_that_it_can([] { ::open("/proc/self/stat", O_RDONLY); }));
  EXPECT_FALSE(says_that_it_can([] { ::memfd_create("file", 0); }));
  EXPECT_FALSE(says_that_it_can([] { std::thread([] { ::pause(); }).detach(); }));
}

TEST(spare, a_copy_ends_with_its_channel) {
  adopt_orphans();
  auto child =
      child_without_files([] { return await_place({}).code() == errc::cancelled ? 0 : 10; });
  child.await_word();
  auto ends = spare_channel::make();
  ASSERT_TRUE(ends && child.channel().ask_for_copy(ends->second.get()).ok());
  ends->second.reset();
  pollfd said{.fd = ends->first.fd(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&said, 1, wait_ms), 1);
  const auto word = ends->first.take_word();
  ASSERT_TRUE(word);
  { const auto closed = std::move(ends->first); }
  int result = 0;
  EXPECT_EQ(::waitpid(word->pid, &result, 0), word->pid);
  EXPECT_EQ(result, 0);
  child.close();
  EXPECT_EQ(child.exit_status(), 0);
}

TEST(spare, the_wait_can_be_interrupted) {
  spare_child child([] {
    int asked = 0;
    const auto result = await_place({.interrupted = [&] { return ++asked == 3; }});
    return result.code() == errc::cancelled && asked == 3 ? 0 : 10;
  });
  EXPECT_EQ(child.exit_status(), 0);
}

TEST(spare, nobody_is_given_a_place_after_its_end) {
  spare_child child([] { return 0; });
  child.await_word();
  EXPECT_EQ(child.exit_status(), 0);
  EXPECT_FALSE(child.channel().take_word());
  EXPECT_TRUE(child.channel().is_closed());
  EXPECT_EQ(child.channel().give({}).code(), errc::unavailable);
}

TEST(spare, other_processes_do_not_wait) {
  for (const std::string& value : {std::string(), std::string("1000"), std::string("2x"),
                                   std::to_string(file_with("").release())}) {
    const auto child = ::fork();
    if (child == 0) {
      ::setenv(spare_variable, value.c_str(), 1);
      ::_exit(!is_spare() && await_place({}).ok() && taken_launch_variables().empty() ? 0 : 1);
    }
    int result = 0;
    ASSERT_EQ(::waitpid(child, &result, 0), child);
    EXPECT_EQ(result, 0) << value;
  }
}

TEST(spare, variables_that_are_too_long_are_an_error) {
  spare_child child([] { return await_place({}).code() == errc::cancelled ? 0 : 10; });
  const spare_place place{.variables = {{"SPARE_TEST_LONG", std::string(1 << 20, 'x')}},
                          .descriptors = {},
                          .output = -1};
  EXPECT_EQ(child.channel().give(place).code(), errc::io_error);
  child.close();
  EXPECT_EQ(child.exit_status(), 0);
}

}  // namespace
}  // namespace tidegate::runtime
