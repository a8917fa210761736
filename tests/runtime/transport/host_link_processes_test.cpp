// The link between processes of one host, with real ones: they sleep, lie, close, and are
// killed.
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <dirent.h>
#include <fstream>
#include <poll.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "runtime/transport/host_link.hpp"
#include "tests/support/host_end.hpp"

namespace tidegate::runtime {
namespace {

using clock = std::chrono::steady_clock;
using tests::mapped_rings;
using tests::pull_of;
using tests::push_header;
using tests::recorder;
using tests::until;
using end = tests::host_end;

std::size_t open_descriptors() {
  std::size_t count = 0;
  auto* folder = ::opendir("/proc/self/fd");
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

// A process that does what it is told to with a link of its own, which is connected to `to`; of
// it the caller gets the address.
class process {
 public:
  template <class Work>
  process(const std::string& to, const Work& work) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      end own;
      const auto text = own.self->address();
      const auto peer = own.self->connect(to);
      if (!peer || ::write(ends[1], text.data(), text.size()) < 0) ::_exit(1);
      work(own, *peer);
      ::_exit(0);
    }
    ::close(ends[1]);
    std::array<char, 4096> text{};
    const auto got = ::read(ends[0], text.data(), text.size());
    EXPECT_GT(got, 0);
    if (got > 0) address_.assign(text.data(), static_cast<std::size_t>(got));
    ::close(ends[0]);
  }
  ~process() { end_by(SIGKILL); }

  const std::string& address() const { return address_; }
  void end_by(int signal) {
    if (pid_ <= 0) return;
    ::kill(pid_, signal);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  void wait() {
    ::waitpid(pid_, &code_, 0);
    pid_ = 0;
  }
  int code() const { return code_; }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
  int code_ = -1;
  std::string address_;
};

// Where the rings of this process lie.
std::vector<std::uint64_t*> own_rings() {
  std::vector<std::uint64_t*> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("tidegate-ring") != std::string::npos &&
        line.find(" rw") != std::string::npos)
      found.push_back(reinterpret_cast<std::uint64_t*>(std::stoull(line, nullptr, 16)));
  return found;
}

TEST(host_link, whoever_is_killed_while_it_writes_holds_up_nobody_else) {
  rng random(3);
  end here;
  end friendly;
  const auto to_here = friendly.connect(here);
  here.connect(friendly);
  const std::vector<std::byte> payload(300'000, std::byte{5});
  std::size_t descriptors = 0, rings = 0;
  for (std::uint64_t round = 0; round < 150; ++round) {
    process other(here.self->address(), [&](end& own, peer_id to) {
      std::vector<std::byte> large(300'000, std::byte{7});
      for (std::uint64_t i = 0;; ++i) {
        own.self->post(to, i % 3 == 0 ? push_header(large.size(), i) : pull_of(i),
                       i % 3 == 0 ? std::span<const std::byte>(large) : std::span<std::byte>(),
                       0);
        own.self->progress();
        // Its queue is bounded by whoever uses the link; here by its reader's speed.
        while (i % 64 == 0 && own.sink.arrivals.size() * 64 < i) own.self->progress();
      }
    });
    const auto to_other = here.self->connect(other.address());
    ASSERT_TRUE(to_other);
    const auto enough = 1 + random.below(100);
    std::uint64_t answered = 0;
    const auto deadline = clock::now() + std::chrono::seconds(20);
    while (here.sink.arrivals.size() < enough && clock::now() < deadline) {
      here.self->progress();
      for (; answered * 64 < here.sink.arrivals.size(); ++answered)
        here.self->post(*to_other, pull_of(0), {}, 0);
    }
    ASSERT_GE(here.sink.arrivals.size(), enough);
    other.end_by(SIGKILL);
    here.self->post(*to_other, push_header(payload.size(), 1), payload, 77);
    here.self->disconnect(*to_other);
    here.self->disconnect(*to_other);
    while (!here.sink.sent.contains(77) && clock::now() < deadline) here.self->progress();
    EXPECT_FALSE(here.sink.sent[77].ok());
    for (const auto& arrival : here.sink.arrivals)
      for (const auto byte : arrival.payload) ASSERT_EQ(byte, std::byte{7});
    here.sink = {};
    here.self->set_sink(&here.sink);

    friendly.self->post(to_here, push_header(payload.size(), round), payload, 1);
    ASSERT_TRUE(until(here, friendly, [&] { return here.sink.arrivals.size() == 1; }));
    EXPECT_EQ(here.sink.arrivals[0].payload, payload);
    EXPECT_TRUE(here.sink.lost.empty()) << "who says so knows";
    here.sink = {};
    if (round == 10) {
      descriptors = open_descriptors();
      rings = mapped_rings();
    }
  }
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_EQ(mapped_rings(), rings);
}

TEST(host_link, those_who_died_before_anybody_connected_to_them_leave_nothing) {
  end here;
  std::size_t rings = 0;
  for (int round = 0; round < 20; ++round) {
    process other(here.self->address(), [](end& own, peer_id to) {
      own.self->post(to, pull_of(1), {}, 0);
      while (true) own.self->progress();
    });
    const auto before = here.sink.arrivals.size();
    ASSERT_TRUE(until(here, here, [&] { return here.sink.arrivals.size() == before + 1; }));
    other.end_by(SIGKILL);
    if (round == 2) rings = mapped_rings();
  }
  EXPECT_EQ(mapped_rings(), rings);
}

TEST(host_link, what_was_written_before_the_end_is_read) {
  end here;
  process other(here.self->address(), [](end& own, peer_id to) {
    const std::vector<std::byte> large(400'000, std::byte{9});
    for (std::uint64_t i = 0; i < 100; ++i)
      own.self->post(to, push_header(large.size(), i), large, 0);
    own.self->close(10'000);
  });
  const auto to = here.self->connect(other.address());
  ASSERT_TRUE(to);
  ASSERT_TRUE(until(here, here, [&] { return !here.sink.lost.empty(); }));
  EXPECT_EQ(here.sink.lost, std::vector{*to});
  ASSERT_EQ(here.sink.arrivals.size(), 100U);
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(here.sink.arrivals[i].header.clock, i);
}

TEST(host_link, two_that_sleep_wake_each_other) {
  end here;
  constexpr std::uint64_t turns = 3000;
  // Each sleeps whenever there is nothing to do, and one lost wake would be the end.
  const auto play = [](end& own, peer_id to, bool starts) {
    std::uint64_t seen = 0;
    if (starts) own.self->post(to, pull_of(0), {}, 0);
    const auto deadline = clock::now() + std::chrono::seconds(30);
    while (seen < turns && clock::now() < deadline) {
      while (own.self->progress() > 0) continue;
      for (; seen < own.sink.arrivals.size(); ++seen) own.self->post(to, pull_of(seen), {}, 0);
      if (seen < turns && own.self->arm()) {
        pollfd waits{.fd = own.self->event_fd(), .events = POLLIN, .revents = 0};
        if (::poll(&waits, 1, 20'000) == 0) return false;
      }
    }
    return seen >= turns;
  };
  process other(here.self->address(), [&](end& own, peer_id to) {
    const bool well = play(own, to, false);
    own.self->close(1000);
    ::_exit(well ? 0 : 2);
  });
  const auto to = here.self->connect(other.address());
  ASSERT_TRUE(to);
  EXPECT_TRUE(play(here, *to, true));
  here.self->close(1000);
  other.wait();
  EXPECT_EQ(other.code(), 0);
}

TEST(host_link, what_had_a_place_when_its_sender_died_is_told_as_lost) {
  end here;
  const std::uint64_t bytes = 4 << 20;
  process other(here.self->address(), [&](end& own, peer_id to) {
    const std::vector<std::byte> large(bytes);
    own.self->post(to, push_header(large.size(), 1), large, 0);  // as much as there is room for
    while (true) ::pause();
  });
  const auto to = here.self->connect(other.address());
  ASSERT_TRUE(to);
  ASSERT_TRUE(until(here, here, [&] { return !here.sink.places.empty(); }));
  other.end_by(SIGKILL);
  here.self->disconnect(*to);
  EXPECT_TRUE(here.sink.frames_lost.empty()) << "told in progress()";
  ASSERT_TRUE(until(here, here, [&] { return !here.sink.frames_lost.empty(); }));
  EXPECT_EQ(here.sink.frames_lost, std::vector{push_header(bytes, 1)});
}

TEST(host_link, a_ring_that_lies_is_given_up_and_its_reader_may_sleep) {
  end here;
  process other(here.self->address(), [](end& own, peer_id to) {
    own.self->post(to, pull_of(1), {}, 0);
    while (own.sink.arrivals.empty()) own.self->progress();
    *own_rings().front() = 3;
    while (own.sink.lost.empty()) own.self->progress();
    ::_exit(own.sink.lost == std::vector{to} ? 0 : 2);
  });
  const auto to = here.self->connect(other.address());
  ASSERT_TRUE(to);
  ASSERT_TRUE(until(here, here, [&] { return here.sink.arrivals.size() == 1; }));
  here.self->post(*to, pull_of(1), {}, 0);
  ASSERT_TRUE(until(here, here, [&] { return !here.sink.bad.empty(); }));
  EXPECT_EQ(here.self->counters().frames_bad, 1U);
  other.wait();
  EXPECT_EQ(other.code(), 0) << "it was told";
  ASSERT_TRUE(until(here, here, [&] { return here.self->arm(); }));
}

// What one could open of the other, the other could not open of the one.
TEST(host_link, processes_of_two_users_have_no_rings) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  end here;
  const auto address = here.self->address();
  const auto pid = ::fork();
  if (pid == 0) {
    if (::setuid(65'534) != 0) ::_exit(2);
    end other;
    static_cast<void>(other.self->connect(address));
    ::_exit(mapped_rings() == 0 ? 0 : 3);
  }
  int code = -1;
  ::waitpid(pid, &code, 0);
  EXPECT_EQ(code, 0);
  process other(here.self->address(), [](end&, peer_id) {
    while (true) ::pause();
  });
  EXPECT_TRUE(here.self->connect(other.address()));
  EXPECT_EQ(mapped_rings(), 1U) << "of one user they have";
}

}  // namespace
}  // namespace tidegate::runtime
