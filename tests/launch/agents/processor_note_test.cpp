#include "launch/agents/processor_note.hpp"

#include <gmock/gmock.h>

#include "runtime/base/processor.hpp"

namespace tidegate::launch {
namespace {

TEST(processor_note, says_which_host_has_other_instructions) {
  agent_config config;
  config.host = "blue";
  config.instructions = "x86_64 avx avx2 fma";
  EXPECT_FALSE(processor_note(config, "x86_64 avx avx2 fma"));
  const auto note = processor_note(config, "x86_64 avx");
  ASSERT_TRUE(note);
  EXPECT_TRUE(note->is_warning);
  EXPECT_EQ(note->detail,
            "host blue has x86_64 avx, the launcher's x86_64 avx avx2 fma: what Tidegate "
            "computes has the same bits on both, what programs compute may not");
}

TEST(vector_instructions, begin_with_the_architecture) {
  EXPECT_THAT(runtime::vector_instructions(), testing::MatchesRegex("[a-z0-9_]+( [a-z0-9]+)*"));
}

}  // namespace
}  // namespace tidegate::launch
