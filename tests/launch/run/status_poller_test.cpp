#include "launch/run/status_poller.hpp"

#include <poll.h>

#include <gtest/gtest.h>

namespace tidegate::launch {
namespace {

// What the view is told and asked, seen from the test's thread.
struct record {
  std::mutex mutex;
  std::vector<std::uint64_t> events_seen;
  std::vector<std::string> calls;
  bool is_silent = false;
  runtime::status leave_says;     // once
  std::uint32_t incarnation = 1;  // of the coordinator
};

class recording_view final : public cluster_view {
 public:
  explicit recording_view(record& into) : into_(into) {}

  runtime::status reconnect() override { return note("reconnect"); }
  runtime::expected<policies::cluster_status> poll(std::uint64_t events_seen) override {
    const std::lock_guard lock(into_.mutex);
    into_.events_seen.push_back(events_seen);
    if (into_.is_silent) return runtime::fail(runtime::errc::timed_out, "no answer");
    policies::cluster_status status;
    status.incarnation = into_.incarnation;
    status.events.resize(2);
    status.jobs.resize(1);
    return status;
  }
  runtime::status fail_job(const std::string& job, const std::string& why) override {
    return note("fail " + job + " " + why);
  }
  runtime::status leave(const std::string& job, std::uint32_t rank) override {
    const std::lock_guard lock(into_.mutex);
    into_.calls.push_back("leave " + job + " " + std::to_string(rank));
    return std::exchange(into_.leave_says, {});
  }
  runtime::status scale(const std::string& job, std::uint32_t workers) override {
    return note("scale " + job + " " + std::to_string(workers));
  }
  runtime::status want_last_checkpoint(const std::string& job) override {
    return note("save " + job);
  }
  runtime::status scale_shards(std::uint32_t slots) override {
    return note("shards " + std::to_string(slots));
  }
  runtime::status process_ended(const policies::process_name& name,
                                std::uint32_t incarnation) override {
    return note("ended " + name.to_string() + " " + std::to_string(incarnation));
  }
  runtime::status stop() override { return note("stop"); }

 private:
  runtime::status note(const std::string& call) {
    const std::lock_guard lock(into_.mutex);
    into_.calls.push_back(call);
    return {};
  }
  record& into_;
};

status_poller::observe_function observe(record& into) {
  return
      [&into](const actors::node_options&) { return std::make_unique<recording_view>(into); };
}

// Blocks until the news satisfy `holds`; the events of all of them.
template <class Predicate>
std::size_t take_until(status_poller& poller, Predicate holds) {
  std::size_t events = 0;
  for (;;) {
    pollfd fd{.fd = poller.fd(), .events = POLLIN, .revents = 0};
    ::poll(&fd, 1, 10'000);
    const auto news = poller.take();
    events += news.status.events.size();
    if (holds(news)) return events;
  }
}

constexpr std::uint32_t never_ms = 1'000'000;  // only requests lead to polls

TEST(status_poller, polls_at_once_and_when_asked) {
  record seen;
  status_poller poller(observe(seen), {}, never_ms);
  auto events = take_until(poller, [](const auto& n) { return !n.status.jobs.empty(); });
  const auto first = poller.poll_now();
  events += take_until(poller, [&](const auto& n) { return n.answered >= first; });
  const auto second = poller.poll_now();
  events += take_until(poller, [&](const auto& n) { return n.answered >= second; });
  EXPECT_EQ(second, first + 1);
  EXPECT_EQ(events, 6U);
  EXPECT_EQ(seen.events_seen, (std::vector<std::uint64_t>{0, 2, 4}));
}

TEST(status_poller, asks_until_it_is_answered) {
  record seen;
  seen.leave_says = {runtime::errc::timed_out, "away"};
  status_poller poller(observe(seen), {}, 1);
  const auto number = poller.ask([](cluster_view& view) { return view.leave("mlp", 2); });
  std::vector<std::pair<std::uint64_t, runtime::status>> left;
  take_until(poller, [&](const auto& n) {
    left.insert(left.end(), n.answers.begin(), n.answers.end());
    return !left.empty();
  });
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].first, number);
  EXPECT_TRUE(left[0].second.ok());
  const std::lock_guard lock(seen.mutex);
  EXPECT_EQ(seen.calls, (std::vector<std::string>{"leave mlp 2", "leave mlp 2"}));
}

TEST(status_poller, asks_once_more_over_a_new_connection) {
  record seen;
  seen.leave_says = {runtime::errc::unavailable, "the connection broke"};
  status_poller poller(observe(seen), {}, never_ms);
  poller.ask([](cluster_view& view) { return view.leave("mlp", 2); });
  take_until(poller, [](const auto& n) { return !n.answers.empty(); });
  const std::lock_guard lock(seen.mutex);
  EXPECT_EQ(seen.calls, (std::vector<std::string>{"leave mlp 2", "reconnect", "leave mlp 2"}));
}

TEST(status_poller, a_question_is_no_poll_that_was_asked_for) {
  record seen;
  status_poller poller(observe(seen), {}, never_ms);
  poller.ask([](cluster_view& view) { return view.stop(); });
  std::uint64_t answered = 0;
  take_until(poller, [&](const auto& n) {
    answered = std::max(answered, n.answered);
    return !n.answers.empty();
  });
  EXPECT_EQ(answered, 0U) << "whoever asks for polls counts them";
  EXPECT_EQ(poller.poll_now(), 1U);
}

TEST(status_poller, a_coordinator_that_comes_back_counts_its_events_anew) {
  record seen;
  status_poller poller(observe(seen), {}, never_ms);
  auto events = take_until(poller, [](const auto& n) { return !n.status.jobs.empty(); });
  {
    const std::lock_guard lock(seen.mutex);
    seen.incarnation = 2;
  }
  const auto asked = poller.poll_now();
  events += take_until(poller, [&](const auto& n) { return n.answered >= asked; });
  EXPECT_EQ(events, 4U) << "what the answer to the old number had is not taken";
  EXPECT_EQ(seen.events_seen, (std::vector<std::uint64_t>{0, 2, 0}));
}

TEST(status_poller, finish_fails_jobs_then_stops) {
  record seen;
  {
    status_poller poller(observe(seen), {}, never_ms);
    take_until(poller, [](const auto& n) { return n.connected; });
    poller.finish({{"a", "died"}, {"b", "died"}});
  }
  EXPECT_EQ(seen.calls, (std::vector<std::string>{"fail a died", "fail b died", "stop"}));
}

TEST(status_poller, finish_does_not_wait_for_a_coordinator_that_is_silent) {
  record seen;
  seen.is_silent = true;
  {
    status_poller poller(observe(seen), {}, never_ms);
    take_until(poller, [](const auto& n) { return !n.health.ok(); });
    poller.finish({{"a", "died"}});
  }
  EXPECT_TRUE(seen.calls.empty());
}

TEST(status_poller, connects_again_until_the_start_timeout) {
  int attempts = 0;
  actors::node_options options;
  options.start_timeout_ms = 30;
  const auto refuse =
      [&](const actors::node_options& o) -> runtime::expected<std::unique_ptr<cluster_view>> {
    ++attempts;
    EXPECT_LE(o.start_timeout_ms, 30U);
    return runtime::fail(runtime::errc::unavailable, "nobody");
  };
  status_poller poller(refuse, options, 1);
  take_until(poller, [](const auto& n) { return n.gave_up; });
  EXPECT_EQ(poller.take().health.message(), "nobody");
  EXPECT_FALSE(poller.take().connected);
  EXPECT_GT(attempts, 1);
}

}  // namespace
}  // namespace tidegate::launch
