// Who does not beat hangs, and nobody else: not who is about to begin, has left, was stopped
// for less than the time-out, or whose launcher was stopped itself.
#include "policies/supervision/hang_detector.hpp"

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

constexpr std::uint32_t timeout_ms = 2000;
constexpr std::int64_t ms = 1'000'000;

// Two processes, 0 and 1, that beat as a test lets them.
class detected {
 public:
  // Time passes; the launcher looks whenever it is due, those of `beating` beat in between.
  void pass_ms(std::int64_t span, const std::vector<process_number>& beating) {
    for (const auto until = now_ + span * ms; now_ < until;) {
      now_ += beat_interval_ms(timeout_ms) * ms;
      for (const auto number : beating) ++beats_[number];
      look();
    }
  }
  // Nobody looks; nobody beats, either.
  void sleep_ms(std::int64_t span) { now_ += span * ms; }
  void look() {
    const std::vector<beat_reading> readings{{0, beats_[0]}, {1, beats_[1]}};
    detector_.look(now_, readings, hangs_);
  }
  std::vector<hang> hangs() { return std::exchange(hangs_, {}); }
  void leaves(process_number process) { beats_[process] = 0; }
  void is_replaced(process_number process) {
    detector_.forget(process);
    beats_[process] = 0;
  }
  hang_detector& detector() { return detector_; }

 private:
  hang_detector detector_{timeout_ms};
  std::map<process_number, std::uint64_t> beats_;
  std::int64_t now_ = 17 * ms;
  std::vector<hang> hangs_;
};

TEST(hang_detector, who_beats_does_not_hang) {
  detected some;
  some.pass_ms(60'000, {0, 1});
  EXPECT_TRUE(some.hangs().empty());
}

TEST(hang_detector, who_does_not_beat_hangs_once) {
  detected some;
  some.pass_ms(1000, {0, 1});
  some.pass_ms(timeout_ms, {0});
  EXPECT_TRUE(some.hangs().empty()) << "the last beat may have been just before a look";
  some.pass_ms(2 * beat_interval_ms(timeout_ms), {0});
  const auto hangs = some.hangs();
  ASSERT_EQ(hangs.size(), 1U);
  EXPECT_EQ(hangs[0].process, 1U);
  EXPECT_GE(hangs[0].silent_ns, timeout_ms * ms);
  some.pass_ms(10'000, {0});
  EXPECT_TRUE(some.hangs().empty());
}

TEST(hang_detector, who_beats_again_and_hangs_again_is_told_again) {
  detected some;
  some.pass_ms(1000, {0, 1});
  some.pass_ms(2 * timeout_ms, {0});
  some.pass_ms(1000, {0, 1});
  some.pass_ms(2 * timeout_ms, {0});
  EXPECT_EQ(some.hangs().size(), 2U);
}

TEST(hang_detector, who_has_not_begun_or_has_left_is_not_waited_for) {
  detected some;
  some.pass_ms(60'000, {0});
  some.pass_ms(1000, {0, 1});
  some.leaves(1);
  some.pass_ms(60'000, {0});
  EXPECT_TRUE(some.hangs().empty());
}

TEST(hang_detector, a_successor_begins_anew) {
  detected some;
  some.pass_ms(1000, {0, 1});
  some.pass_ms(1500, {0});
  some.is_replaced(1);
  some.pass_ms(60'000, {0});
  EXPECT_TRUE(some.hangs().empty());
}

TEST(hang_detector, a_launcher_that_was_stopped_judges_nobody) {
  detected some;
  some.pass_ms(1000, {0, 1});
  some.sleep_ms(3'600'000);  // with everybody else: nobody has beaten
  some.look();
  some.look();
  EXPECT_TRUE(some.hangs().empty());
  some.pass_ms(10'000, {0, 1});
  EXPECT_TRUE(some.hangs().empty());
  some.pass_ms(2 * timeout_ms, {0});
  EXPECT_EQ(some.hangs().size(), 1U) << "and sees as well as before";
}

TEST(hang_detector, without_a_time_out_nobody_looks) {
  hang_detector off(0);
  EXPECT_EQ(off.next_look(), hang_detector::never);
  std::vector<hang> hangs;
  for (std::int64_t now = 0; now < 100'000 * ms; now += 1000 * ms) {
    const std::vector<beat_reading> readings{{0, 1}};
    off.look(now, readings, hangs);
  }
  EXPECT_TRUE(hangs.empty());
}

}  // namespace
}  // namespace tidegate::policies
