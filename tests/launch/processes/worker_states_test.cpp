// Whose memory a worker inherits.
#include "launch/processes/worker_states.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "policies/model/state_layout.hpp"

namespace tidegate::launch {
namespace {

using policies::process_role;

constexpr std::uint64_t token = 5;

class worker_states_test : public testing::Test {
 protected:
  worker_states_test() {
    spec.jobs.resize(2);
    spec.jobs[0].name = "keeps";
    spec.jobs[1].name = "does_not";
    spec.jobs[1].state_bytes = 0;
  }
  int prepare(policies::agent_orders::start start, const std::string& job = "keeps") {
    start.name = {.role = process_role::worker, .job = job, .index = start.process.process};
    const auto fd = states.prepare(start, token);
    EXPECT_TRUE(fd);
    return fd ? *fd : -2;
  }
  static std::uint64_t history_of(int fd) {
    const auto file = runtime::state_file::open(::dup(fd), token);
    EXPECT_TRUE(file);
    EXPECT_EQ(policies::state_version_bytes(file->bytes().size()),
              policies::default_state_bytes);
    return static_cast<std::uint64_t>(file->bytes()[policies::state_history_offset]);
  }
  static ino_t inode_of(int fd) {
    struct stat info = {};
    EXPECT_EQ(::fstat(fd, &info), 0);
    return info.st_ino;
  }

  policies::cluster_spec spec;
  worker_states states{spec};
};

TEST_F(worker_states_test, is_the_same_for_each_incarnation_and_another_for_each_rank) {
  const auto first = prepare({.process = {3, 1}});
  EXPECT_EQ(history_of(first), 1U);
  EXPECT_EQ(prepare({.process = {3, 2}}), first);
  EXPECT_EQ(prepare({.process = {3, 3}, .epoch = 2}), first);
  EXPECT_NE(prepare({.process = {4, 1}}), first);
}

TEST_F(worker_states_test, is_new_for_a_worker_that_joins) {
  const auto before = inode_of(prepare({.process = {3, 1}}));
  const auto joined = prepare({.process = {3, 2}, .epoch = 2, .joins = true});
  EXPECT_NE(inode_of(joined), before);
  EXPECT_EQ(history_of(joined), 1U) << "it has had no state before";
}

TEST_F(worker_states_test, does_not_pretend_to_know_what_was_before_its_launcher) {
  EXPECT_EQ(history_of(prepare({.process = {3, 1}, .epoch = 2})), 0U);
}

TEST_F(worker_states_test, forgets_what_a_worker_kept_before_it_was_on_another_host) {
  const auto before = inode_of(prepare({.process = {3, 1}}));
  const auto back = prepare({.process = {3, 3}, .moved = true});
  EXPECT_NE(inode_of(back), before);
  EXPECT_EQ(history_of(back), 0U) << "what it has kept elsewhere is not known here";
}

// Its host may be lost, and its state with it.
TEST_F(worker_states_test, does_not_pretend_to_know_what_was_before_on_another_host) {
  EXPECT_EQ(history_of(prepare({.process = {3, 2}})), 0U);
}

TEST_F(worker_states_test, is_nothing_where_nothing_is_kept) {
  EXPECT_EQ(prepare({.process = {3, 1}}, "does_not"), -1);
  EXPECT_EQ(*states.prepare({.process = {1, 1},
                             .name = {.role = process_role::shard, .job = "", .index = 0}},
                            token),
            -1);
}

}  // namespace
}  // namespace tidegate::launch
