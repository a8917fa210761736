#include "policies/protocol/protocol_version.hpp"

#include <gtest/gtest.h>

#include "runtime/base/frame_header.hpp"

namespace tidegate::policies {
namespace {

TEST(protocol_version, is_that_of_the_frames_and_no_other_will_do) {
  EXPECT_TRUE(check_protocol(protocol_text().c_str(), "").ok());
  const auto control = "." + std::to_string(control_version);
  const auto ours = std::to_string(runtime::frame_version) + control;
  const auto next = std::to_string(runtime::frame_version + 1) + control;
  const auto other = check_protocol(next.c_str(), "rebuild the worker");
  EXPECT_EQ(other.code(), runtime::errc::invalid_argument);
  EXPECT_EQ(other.message(), "built for protocol " + ours + ", the launcher speaks " + next +
                                 ": rebuild the worker");
}

TEST(protocol_version, a_launcher_that_does_not_say_is_another_one) {
  for (const auto* text : {static_cast<const char*>(nullptr), ""})
    EXPECT_EQ(check_protocol(text, "rebuild the worker").message(),
              "built for protocol " + protocol_text() +
                  ", the launcher does not say which it speaks (TIDEGATE_PROTOCOL): rebuild "
                  "the worker");
}

}  // namespace
}  // namespace tidegate::policies
