// A process beats into the page that it was given, and into nothing else.
#include "runtime/heartbeat/heartbeat.hpp"

#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace tidegate::runtime {
namespace {

constexpr std::uint64_t token = 0xfeedULL;

template <class Condition>
bool comes_true(const Condition& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return condition();
}

TEST(beat_page, is_shared_with_who_has_its_descriptor) {
  auto page = beat_page::make(token);
  ASSERT_TRUE(page) << page.error().message();
  const auto opened = beat_page::open(page->fd(), token);
  ASSERT_TRUE(opened) << opened.error().message();
  page->handed_over();
  opened->record().beats.store(7);
  EXPECT_EQ(page->record().beats.load(), 7U);
}

TEST(beat_page, is_not_taken_for_another_file) {
  const auto page = beat_page::make(token);
  ASSERT_TRUE(page);
  EXPECT_FALSE(beat_page::open(page->fd(), token + 1)) << "of another run";
  EXPECT_FALSE(beat_page::open(-1, token));
  char name[] = "/tmp/tidegate-heartbeat-XXXXXX";
  const unique_fd file(::mkstemp(name));
  ::unlink(name);
  EXPECT_FALSE(beat_page::open(file.get(), token)) << "an empty file";
  const std::string text = "sixteen letters.";
  ASSERT_EQ(::write(file.get(), text.data(), text.size()), 16);
  EXPECT_FALSE(beat_page::open(file.get(), token)) << "a file of the same size";
}

TEST(beat_page, cannot_be_cut_short) {
  const auto page = beat_page::make(token);
  ASSERT_TRUE(page);
  EXPECT_NE(::ftruncate(page->fd(), 0), 0);
}

TEST(heartbeat, beats_as_long_as_it_lives) {
  auto result = beat_page::make(token);
  ASSERT_TRUE(result);
  const auto page = std::make_shared<beat_page>(std::move(*result));
  const auto& beats = page->record().beats;
  {
    const heartbeat entry(page, 1);
    EXPECT_TRUE(comes_true([&] { return beats.load() > 3; }));
  }
  EXPECT_EQ(beats.load(), 0U) << "nobody is to wait for it";
}

// In a process of its own, as the descriptor is taken once a process.
int child_with(const char* value, const beat_page& page) {
  const auto pid = ::fork();
  if (pid == 0) {
    ::setenv(heartbeat_variable, value, 1);
    const auto entry = heartbeat::of_process(token);
    if (!entry) ::_exit(2);
    const bool beats = comes_true([&] { return page.record().beats.load() > 3; });
    const bool closed = ::fcntl(page.fd(), F_GETFD) == -1;
    const auto two = heartbeat::of_process(token);
    ::_exit(beats && closed && two ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(heartbeat, of_a_process_whose_launcher_wishes_it) {
  const auto page = beat_page::make(token);
  ASSERT_TRUE(page);
  EXPECT_EQ(child_with(heartbeat_text(page->fd(), 1).c_str(), *page), 0);
  EXPECT_GT(page->record().beats.load(), 3U);
  for (const auto* other : {"", "7", "x:1", ":1", "7:", "7:0", "99999:5"})
    EXPECT_EQ(child_with(other, *page), 2) << other;
}

}  // namespace
}  // namespace tidegate::runtime
