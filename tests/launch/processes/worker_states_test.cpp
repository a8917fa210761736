// Whose memory a worker inherits.
#include "launch/processes/worker_states.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "policies/model/state_layout.hpp"
#include "policies/worker/kept_state.hpp"

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
    const auto given = states.prepare(start, token);
    EXPECT_TRUE(given);
    return given ? given->file : -2;
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
  EXPECT_EQ(states
                .prepare({.process = {1, 1},
                          .name = {.role = process_role::shard, .job = "", .index = 0}},
                         token)
                ->file,
            -1);
}

// Where the job asks for it and hosts may be lost.
class mirrored_states_test : public worker_states_test {
 protected:
  struct worker {
    std::shared_ptr<runtime::state_file> file;
    std::unique_ptr<runtime::mirror_line> line;

    // Keeps this as of the beginning of a clock, in the memory that it has resumed in.
    void commit(std::uint64_t resumed, std::uint64_t clock, const std::string& text) {
      policies::kept_state kept(*file, policies::default_state_bytes);
      kept.resume(1, resumed);
      EXPECT_TRUE(kept.keep("a", std::as_bytes(std::span(text)), clock - 1).ok());
      kept.commit(clock);
    }
    std::string found(std::uint64_t clock) {
      policies::kept_state kept(*file, policies::default_state_bytes);
      kept.resume(1, clock);
      if (kept.is_lost()) return "lost";
      const auto bytes = kept.kept("a");
      return bytes ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size())
                   : "none";
    }
  };

  mirrored_states_test() {
    spec.jobs[0].state_mirror_every = 3;
    spec.hosts.resize(2);
  }
  worker start(worker_states& of, policies::agent_orders::start order) {
    order.name = {.role = process_role::worker, .job = "keeps", .index = 3};
    const auto given = of.prepare(order, token);
    EXPECT_TRUE(given);
    EXPECT_EQ(given->mirror_every, 3U);
    auto file = runtime::state_file::open(::dup(given->file), token);
    EXPECT_TRUE(file);
    worker started{.file = std::make_shared<runtime::state_file>(std::move(*file)),
                   .line = std::make_unique<runtime::mirror_line>(
                       runtime::unique_fd(::dup(given->mirror)), given->mirror_every)};
    of.started(3);
    return started;
  }
  static std::vector<policies::agent_reports::state> read(worker_states& of) {
    std::vector<policies::agent_report> reports;
    of.read(reports);
    std::vector<policies::agent_reports::state> asked;
    for (auto& report : reports)
      asked.push_back(std::get<policies::agent_reports::state>(std::move(report)));
    return asked;
  }

  worker_states elsewhere{spec};
};

TEST_F(mirrored_states_test, what_is_copied_is_there_on_another_host) {
  auto first = start(states, {.process = {3, 1}});
  first.commit(0, 1, "one");
  first.line->ask({.number = 1, .version = 1});
  const auto asked = read(states);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].process, (policies::launched_process{3, 1}));
  EXPECT_EQ(asked[0].number, 1U);
  states.mirrored({3, 1}, 1);
  EXPECT_EQ(first.line->await_answer(), 1U);
  auto second = start(elsewhere, {.process = {3, 2}, .moved = true, .state = asked[0].image});
  EXPECT_EQ(second.found(1), "one");
  EXPECT_EQ(second.found(2), "lost");
}

TEST_F(mirrored_states_test, a_request_of_a_process_that_has_ended_is_forgotten) {
  auto first = start(states, {.process = {3, 1}});
  first.line->ask({.number = 1});
  auto second = start(states, {.process = {3, 2}});
  EXPECT_TRUE(read(states).empty());
  states.mirrored({3, 1}, 1);
  second.line->ask({.number = 1});
  EXPECT_EQ(read(states).size(), 1U);
  states.mirrored({3, 2}, 1);
  EXPECT_EQ(second.line->await_answer(), 1U);
  second.line->ask({.number = 2});
  states.ended(3);
  EXPECT_TRUE(read(states).empty());
  states.mirrored({3, 2}, 2);  // of nobody any more
}

TEST_F(mirrored_states_test, nothing_is_copied_where_there_is_one_host) {
  spec.hosts.resize(1);
  const auto given = states.prepare(
      {.process = {3, 1}, .name = {.role = process_role::worker, .job = "keeps", .index = 3}},
      token);
  ASSERT_TRUE(given);
  EXPECT_EQ(given->mirror, -1);
  EXPECT_GE(given->file, 0);
}

}  // namespace
}  // namespace tidegate::launch
