// What a process notes of itself can be read by whoever has started it, whatever becomes of it.
#include <cstdlib>
#include <fcntl.h>
#include <limits>
#include <signal.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "runtime/base/record_clock.hpp"
#include "runtime/base/unix_time.hpp"
#include "runtime/recorder/span_recorder.hpp"

namespace tidegate::runtime {
namespace {

constexpr std::uint64_t token = 0xfeedULL;

trace_span span_of(std::uint64_t clock) {
  const auto now = record_now();
  return {.begin_ns = now - 1'000,
          .end_ns = now,
          .job = 7,
          .clock = clock,
          .peer = 3,
          .table = 2,
          .chunk = 1,
          .count = 5,
          .kind = span_kind::frame,
          .detail = 9};
}

TEST(span_ring, gives_spans_in_their_order_with_the_time_of_day) {
  auto ring = span_ring::make(token);
  ASSERT_TRUE(ring) << ring.error().message();
  EXPECT_TRUE(ring->read().empty());
  ring->note_clocks();
  const auto before = unix_now();
  for (std::uint64_t clock = 0; clock < 3; ++clock) ring->add(span_of(clock));
  const auto after = unix_now();
  const auto spans = ring->read();
  ASSERT_EQ(spans.size(), 3U);
  constexpr std::int64_t slack_ns = 1'000'000;  // of the two clocks, in so short a time
  for (std::uint64_t clock = 0; clock < 3; ++clock) {
    auto expected = span_of(clock);
    expected.begin_ns = spans[clock].begin_ns;
    expected.end_ns = spans[clock].end_ns;
    EXPECT_EQ(spans[clock], expected);
    EXPECT_GE(spans[clock].end_ns, before - slack_ns);
    EXPECT_LE(spans[clock].end_ns, after + slack_ns);
    EXPECT_NEAR(static_cast<double>(spans[clock].end_ns - spans[clock].begin_ns), 1'000, 2);
  }
}

TEST(span_ring, keeps_the_last) {
  auto ring = span_ring::make(token);
  ASSERT_TRUE(ring);
  ring->note_clocks();
  for (std::uint64_t clock = 0; clock < span_ring::slots; ++clock) ring->add(span_of(clock));
  EXPECT_FALSE(ring->is_over());
  for (std::uint64_t clock = span_ring::slots; clock < span_ring::slots + 10; ++clock)
    ring->add(span_of(clock));
  EXPECT_TRUE(ring->is_over());
  const auto spans = ring->read();
  ASSERT_EQ(spans.size(), span_ring::slots);
  EXPECT_EQ(spans.front().clock, 10U);
  EXPECT_EQ(spans.back().clock, span_ring::slots + 9);
}

// Every span that is read is whole: all its fields are of one add().
TEST(span_ring, is_read_while_threads_write) {
  auto ring = span_ring::make(token);
  ASSERT_TRUE(ring);
  ring->note_clocks();
  std::atomic<bool> ends = false;
  const auto write = [&](std::uint32_t writer) {
    for (std::uint64_t clock = 0; !ends; ++clock) {
      auto span = span_of(clock);
      span.peer = writer;
      span.job = clock * 3 + writer;
      ring->add(span);
    }
  };
  std::thread first(write, 1), second(write, 2);
  std::size_t found = 0;
  while (found < 4 * span_ring::slots)
    for (const auto& span : ring->read()) {
      ASSERT_EQ(span.job, span.clock * 3 + span.peer);
      ++found;
    }
  ends = true;
  first.join();
  second.join();
}

// A process may write anything there.
TEST(span_ring, leaves_out_what_cannot_be) {
  auto ring = span_ring::make(token);
  ASSERT_TRUE(ring);
  ring->note_clocks();
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  for (const auto& [begin, end] :
       {std::pair(least, most), std::pair(most, least), std::pair(least, least),
        std::pair(most, most), std::pair(record_now(), record_now() - 1'000)}) {
    auto span = span_of(1);
    span.begin_ns = begin;
    span.end_ns = end;
    ring->add(span);
  }
  auto odd = span_of(2);
  odd.kind = span_kind{77};
  ring->add(odd);
  ring->add(span_of(3));
  const auto spans = ring->read();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans.front().clock, 3U);
}

TEST(span_ring, is_not_taken_for_another_file) {
  const auto ring = span_ring::make(token);
  ASSERT_TRUE(ring);
  EXPECT_FALSE(span_ring::open(ring->fd(), token + 1)) << "of another run";
  EXPECT_FALSE(span_ring::open(-1, token));
  EXPECT_NE(::ftruncate(ring->fd(), 0), 0) << "nobody can cut it short";
}

// A descriptor that is taken once a process: in one of its own.
int child_with(const span_ring& ring, int end_by) {
  const auto pid = ::fork();
  if (pid == 0) {
    ::setenv(spans_variable, std::to_string(ring.fd()).c_str(), 1);
    span_recorder::begin(token);
    span_recorder::begin(token);
    auto* recorder = span_recorder::of_process();
    if (recorder == nullptr) ::_exit(2);
    if (::fcntl(ring.fd(), F_GETFD) != -1) ::_exit(3);
    recorder->add(span_of(42));
    if (end_by != 0) ::raise(end_by);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(span_recorder, leaves_its_spans_when_it_is_killed) {
  const auto ring = span_ring::make(token);
  ASSERT_TRUE(ring);
  EXPECT_EQ(child_with(*ring, SIGKILL), -SIGKILL);
  const auto spans = ring->read();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans.front().clock, 42U);
  EXPECT_EQ(child_with(*ring, 0), 0);
}

TEST(span_recorder, is_not_there_without_memory_for_it) {
  const auto other = span_ring::make(token + 1);
  ASSERT_TRUE(other);
  EXPECT_EQ(child_with(*other, 0), 2);
}

}  // namespace
}  // namespace tidegate::runtime
