// Collections come one after the other, and what happens again and again is collected now and
// then.
#include "launch/shell/span_collector.hpp"

#include <gtest/gtest.h>

namespace tidegate::launch {
namespace {

using reason = span_request::reason;

TEST(span_collector, waits_for_each_host_that_it_has_asked) {
  span_collector spans;
  spans.want(0, {.detail = "a"});
  spans.want(0, {.detail = "b"});
  ASSERT_EQ(spans.begin({0, 2})->detail, "a");
  EXPECT_FALSE(spans.begin({0, 2})) << "one is under way";
  const auto first = spans.number();
  EXPECT_TRUE(spans.expects(2, {.number = first}));
  EXPECT_FALSE(spans.expects(1, {.number = first})) << "it was not asked";
  EXPECT_FALSE(spans.expects(2, {.number = first - 1})) << "of another collection";
  EXPECT_FALSE(spans.host_done(2));
  EXPECT_FALSE(spans.expects(2, {.number = first})) << "it has told all";
  EXPECT_TRUE(spans.host_done(0));
  EXPECT_FALSE(spans.host_done(0)) << "it is over";
  ASSERT_EQ(spans.begin({1})->detail, "b");
  EXPECT_GT(spans.number(), first);
  EXPECT_TRUE(spans.host_done(1));
  EXPECT_FALSE(spans.begin({1}));
}

TEST(span_collector, collects_hangs_now_and_then) {
  span_collector spans;
  const auto wants = [&](std::int64_t now, reason why) {
    spans.want(now, {.why = why});
    const bool begun = spans.begin({0}).has_value();
    return begun && spans.host_done(0);
  };
  EXPECT_TRUE(wants(0, reason::hang));
  EXPECT_FALSE(wants(1, reason::hang));
  EXPECT_TRUE(wants(2, reason::job_failed));
  EXPECT_TRUE(wants(3, reason::job_failed)) << "each job fails once";
  EXPECT_TRUE(wants(3, reason::asked));
  EXPECT_TRUE(wants(4, reason::asked)) << "whoever asks is answered";
  EXPECT_FALSE(wants(span_collector::pause_ns - 1, reason::hang));
  EXPECT_TRUE(wants(span_collector::pause_ns, reason::hang));
  EXPECT_FALSE(wants(2 * span_collector::pause_ns - 1, reason::hang));
}

}  // namespace
}  // namespace tidegate::launch
