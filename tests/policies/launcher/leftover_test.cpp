// Who is ended before a run goes on, and who merely looks like it.
#include "policies/launcher/leftover.hpp"

#include <string_view>

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

using namespace std::string_view_literals;

constexpr auto environment = "HOME=/\0TIDEGATE_RUN_DIR=/r\0TIDEGATE_TOKEN=00ff\0"sv;
const launcher_mark launcher{.pid = 100, .started = 50, .session = 90, .token = "00ff"};

// What a worker, process 101, has started in its own process group.
process_facts helper() {
  return {.pid = 107, .group = 101, .session = 90, .started = 60, .environment = environment};
}

bool is_left(const process_facts& found) {
  return is_leftover(found, launcher, {"/r", "/mnt/r"}, {101, 102});
}

TEST(leftover, is_what_the_launcher_or_a_worker_has_started) {
  EXPECT_TRUE(is_left(helper()));
  auto in_a_group_of_its_own = helper();
  in_a_group_of_its_own.group = 107;
  EXPECT_TRUE(is_left(in_a_group_of_its_own));
  auto of_a_prefix_that_leads_a_session = helper();
  of_a_prefix_that_leads_a_session.session = 102;
  EXPECT_TRUE(is_left(of_a_prefix_that_leads_a_session));
  auto spelled_otherwise = helper();
  spelled_otherwise.environment = "TIDEGATE_RUN_DIR=/mnt/r\0TIDEGATE_TOKEN=00ff\0"sv;
  EXPECT_TRUE(is_left(spelled_otherwise));
}

TEST(leftover, is_nothing_in_a_session_of_its_own) {
  auto tmux = helper();
  tmux.group = tmux.session = tmux.pid;
  EXPECT_FALSE(is_left(tmux));
}

TEST(leftover, is_nothing_without_the_token) {
  for (const auto other :
       {""sv, "TIDEGATE_RUN_DIR=/r\0"sv, "TIDEGATE_RUN_DIR=/r\0TIDEGATE_TOKEN=00fe\0"sv,
        "TIDEGATE_RUN_DIR=/r/2\0TIDEGATE_TOKEN=00ff\0"sv,
        "X=TIDEGATE_RUN_DIR=/r\0TIDEGATE_TOKEN=00ff\0"sv}) {
    auto found = helper();
    found.environment = other;
    EXPECT_FALSE(is_left(found));
  }
  EXPECT_FALSE(is_leftover(helper(), {}, {"/r"}, {101})) << "no launcher is known";
}

TEST(leftover, is_nothing_that_is_older_than_the_launcher) {
  auto older = helper();
  older.started = 49;
  EXPECT_FALSE(is_left(older));
}

}  // namespace
}  // namespace tidegate::policies
