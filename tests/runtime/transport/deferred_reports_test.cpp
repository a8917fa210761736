#include "runtime/transport/deferred_reports.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/link_recorder.hpp"

namespace tidegate::runtime {
namespace {

using tests::push_header;
using tests::recorder;

TEST(deferred_reports, wait_until_they_are_told) {
  link_counters counters;
  recorder sink;
  frame_delivery delivery(counters);
  delivery.set_sink(&sink);
  deferred_reports reports(delivery);
  reports.send_failed(0, {errc::unavailable, "nobody asked"});
  EXPECT_TRUE(reports.empty());
  reports.send_failed(5, {errc::unavailable, "gone"});
  reports.frame_lost(push_header(8, 1));
  reports.bad_frame({errc::corrupt, "garbage"});
  reports.peer_lost(1, {errc::not_found, "dead"});
  reports.peer_lost(3, {errc::not_found, "dead"});
  reports.forget(1);
  EXPECT_EQ(counters.frames_bad, 1U) << "counted at once";
  EXPECT_TRUE(sink.sent.empty() && sink.frames_lost.empty() && sink.bad.empty());
  EXPECT_EQ(reports.tell(), 4U);
  EXPECT_EQ(sink.sent[5].code(), errc::unavailable);
  EXPECT_EQ(sink.frames_lost, std::vector{push_header(8, 1)});
  EXPECT_EQ(sink.bad, std::vector<std::string>{"garbage"});
  EXPECT_EQ(sink.lost, std::vector<peer_id>{3});
  EXPECT_TRUE(reports.empty());
  EXPECT_EQ(reports.tell(), 0U);
}

}  // namespace
}  // namespace tidegate::runtime
