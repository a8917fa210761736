// Lines of a job that are wrong, and what is said about them.
#pragma once

#include <gmock/gmock.h>

#include "tests/launch/config/samples.hpp"

namespace tidegate::launch {

struct bad_job {
  const char* lines;     // of the job
  const char* where;     // what the message starts with
  const char* contains;  // what is wrong
  const char* allowed;
};

inline void expect_refused(const bad_job& bad) {
  EXPECT_THAT(
      refusal(with_job(bad.lines)),
      testing::AllOf(testing::StartsWith(bad.where), testing::HasSubstr(bad.contains),
                     testing::HasSubstr("; allowed: "), testing::HasSubstr(bad.allowed)));
}

}  // namespace tidegate::launch
