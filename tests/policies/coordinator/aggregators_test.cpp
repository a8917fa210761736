// The coordinator of a job with aggregators: who is waited for, called in which order, and told
// what.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "policies/coordinator/core.hpp"
#include "policies/protocol/frame_epoch.hpp"

namespace tidegate::policies {
namespace {

using runtime::errc;

// Five workers, two shards, fan_in 2: aggregators 0 {0, 1}, 1 {2, 3} and above them 2 {0 .. 3};
// worker 4 is alone.
cluster_spec tree_cluster() {
  cluster_spec spec;
  spec.name = "c";
  spec.shards = 2;
  spec.chunk_bytes = 64;
  job_spec job;
  job.name = "j";
  job.workers = 5;
  job.aggregators = {aggregators_kind::fan_in, 2};
  table_spec declared;
  declared.name = "w";
  declared.shape = {40};
  job.tables.push_back(declared);
  spec.jobs.push_back(job);
  return spec;
}

class coordinator_aggregators_test : public testing::Test {
 protected:
  coordinator_core core{tree_cluster(), 99};
  coordinator_effects out;

  void join_all() {
    core.shard_joined(1, 0, "s0", 1, out);
    core.shard_joined(1, 1, "s1", 2, out);
    for (std::uint32_t i = 0; i < 3; ++i)
      EXPECT_TRUE(core.aggregator_joined(1, "j", i, "a" + std::to_string(i), 10 + i, out));
    out.answers.clear();
  }
  // "shard 0" or "aggregator 2" of every call of this type, in order; answers all calls.
  template <class T>
  std::vector<std::string> answer_calls(const runtime::status& result = {}) {
    std::vector<std::string> called;
    auto calls = std::move(out.calls);
    out.calls.clear();
    for (const auto& call : calls) {
      if (std::holds_alternative<T>(call.message))
        called.push_back((call.aggregator_of.empty() ? "shard " : "aggregator ") +
                         std::to_string(call.shard));
      core.call_done(1, call.call, result, out);
    }
    return called;
  }
  using names = std::vector<std::string>;
};

TEST_F(coordinator_aggregators_test, jobs_open_when_shards_and_aggregators_are_in) {
  core.worker_joined(1, {.job = "j", .rank = 0, .incarnation = 1, .address = "w0"}, 7, out);
  core.shard_joined(1, 0, "s0", 1, out);
  core.shard_joined(1, 1, "s1", 2, out);
  core.aggregator_joined(1, "j", 2, "a2", 3, out);
  core.aggregator_joined(1, "j", 0, "a0", 4, out);
  EXPECT_TRUE(out.calls.empty());
  EXPECT_TRUE(core.aggregator_joined(1, "j", 0, "a0", 5, out)) << "it has not heard";
  EXPECT_FALSE(core.aggregator_joined(1, "j", 0, "other", 5, out)) << "twice";
  EXPECT_EQ(out.answers.back().result.code(), errc::already_exists);
  EXPECT_FALSE(core.aggregator_joined(1, "j", 3, "a3", 5, out)) << "one too many";
  EXPECT_FALSE(core.aggregator_joined(1, "k", 0, "a0", 5, out)) << "no such job";
  EXPECT_EQ(out.answers.back().result.code(), errc::invalid_argument);
  core.aggregator_joined(1, "j", 1, "a1", 6, out);
  std::map<std::string, open_job_call> opened;
  for (const auto& call : out.calls)
    if (const auto* open = std::get_if<open_job_call>(&call.message))
      opened[call.aggregator_of + std::to_string(call.shard)] = *open;
  ASSERT_EQ(opened.size(), 5u);
  EXPECT_EQ(opened["0"].members, (std::vector<std::uint32_t>{0, 4}));
  EXPECT_TRUE(opened["1"].nodes.empty());
  EXPECT_EQ(opened["j0"].members, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(opened["j0"].nodes, (std::vector<rank_node>{{0, 2}}));
  EXPECT_EQ(opened["j0"].upstream, std::vector<std::string>{"a2"});
  EXPECT_EQ(opened["j2"].members, (std::vector<std::uint32_t>{0, 2}));
  EXPECT_EQ(opened["j2"].upstream, (std::vector<std::string>{"s0", "s1"}));
  EXPECT_EQ(opened["j2"].workers, 5u);
}

TEST_F(coordinator_aggregators_test, everybody_is_admitted_where_it_pushes) {
  join_all();
  std::map<std::string, std::vector<std::uint32_t>> admitted;
  for (const auto& call : out.calls)
    if (const auto* admit = std::get_if<admit_worker_call>(&call.message))
      admitted[call.aggregator_of + std::to_string(call.shard) + " " + admit->address]
          .push_back(admit->rank);
  using ranks = std::vector<std::uint32_t>;
  const std::map<std::string, ranks> expected{
      {"j2 a0", {0}}, {"j2 a1", {2}}, {"0 a2", {0}}, {"1 a2", {0}}};
  EXPECT_EQ(admitted, expected);
  out.calls.clear();
  core.worker_joined(1, {.job = "j", .rank = 3, .incarnation = 1, .address = "w3"}, 7, out);
  EXPECT_EQ(answer_calls<admit_worker_call>(), names{"aggregator 1"});
  core.worker_joined(1, {.job = "j", .rank = 4, .incarnation = 1, .address = "w4"}, 8, out);
  EXPECT_EQ(answer_calls<admit_worker_call>(), (names{"shard 0", "shard 1"}));
  ASSERT_EQ(out.answers.size(), 2u);
  const auto& below = std::get<worker_welcome>(out.answers[0].value);
  EXPECT_TRUE(below.aggregated);
  EXPECT_EQ(below.shard_addresses, std::vector<std::string>{"a1"});
  const auto& alone = std::get<worker_welcome>(out.answers[1].value);
  EXPECT_FALSE(alone.aggregated);
  EXPECT_EQ(alone.shard_addresses, (std::vector<std::string>{"s0", "s1"}));
}

// Found by simulation: the answers of a shard were lost with its connection, and its calls are
// repeated when it has let in the successor.
TEST_F(coordinator_aggregators_test, a_shard_may_refuse_an_aggregator_that_has_been_replaced) {
  join_all();
  auto calls = std::exchange(out.calls, {});
  core.aggregator_lost(1, "j", 2, "killed", out);
  EXPECT_TRUE(core.aggregator_joined(1, "j", 2, "b2", 42, out, 2));
  std::uint32_t refused = 0;
  for (const auto& call : calls) {
    const auto* admission = std::get_if<admit_worker_call>(&call.message);
    const bool is_late = admission != nullptr && admission->address == "a2" && call.shard == 1;
    refused += is_late;
    core.call_done(
        1, call.call,
        is_late ? runtime::status(errc::refused, "another incarnation") : runtime::status(),
        out);
  }
  EXPECT_EQ(refused, 1U);
  EXPECT_NE(core.status(1, 0).jobs[0].state, job_state::failed);
}

TEST_F(coordinator_aggregators_test, a_shard_must_not_refuse_an_aggregator_that_lives) {
  join_all();
  answer_calls<admit_worker_call>({errc::refused, "no connection"});
  EXPECT_EQ(core.status(1, 0).jobs[0].state, job_state::failed);
}

TEST_F(coordinator_aggregators_test, tables_are_opened_from_the_shards_down) {
  join_all();
  EXPECT_EQ(answer_calls<open_table_call>(), (names{"shard 0", "shard 1"}));
  ASSERT_EQ(out.calls.size(), 1u);
  const auto& top = std::get<open_table_call>(out.calls[0].message);
  EXPECT_EQ(top.places.size(), 3u) << "all chunks, on two shards";
  EXPECT_EQ(top.places[1].shard, 1u);
  EXPECT_EQ(answer_calls<open_table_call>(), names{"aggregator 2"});
  for (const auto& call : out.calls)
    for (const auto& place : std::get<open_table_call>(call.message).places)
      EXPECT_EQ(place.shard, 0u) << "its one upstream";
  EXPECT_TRUE(core.tables("j").empty());
  EXPECT_EQ(answer_calls<open_table_call>(), (names{"aggregator 0", "aggregator 1"}));
  EXPECT_EQ(core.tables("j").size(), 1u);
}

// All tables open, and workers 0 to 3 at clock 0.
class coordinator_set_up_test : public coordinator_aggregators_test {
 protected:
  void SetUp() override {
    join_all();
    while (!out.calls.empty()) answer_all();
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      core.worker_joined(
          1,
          {.job = "j", .rank = rank, .incarnation = 1, .address = "w" + std::to_string(rank)},
          20 + rank, out);
      answer_all();
      core.tables_opened(1, "j", rank, {0}, out);
    }
    out = {};
  }
  void answer_all() { answer_calls<open_job_call>(); }
  // What is called now, in order, answered with these clocks of chunks 0, 1, 2 by each.
  names answer_with(const std::vector<std::uint64_t>& clocks) {
    names called;
    auto calls = std::move(out.calls);
    out.calls.clear();
    for (const auto& call : calls) {
      const auto callee_name =
          (call.aggregator_of.empty() ? "s" : "a") + std::to_string(call.shard);
      std::vector<chunk_clock> moves_heard;
      if (const auto* admit = std::get_if<admit_worker_call>(&call.message))
        called.push_back(callee_name + " admits " + std::to_string(admit->rank) + " at " +
                         admit->address + (admit->finished ? ", finished" : ""));
      if (std::holds_alternative<sum_progress_call>(call.message)) {
        called.push_back(callee_name + " is asked");
        for (std::uint32_t chunk = 0; chunk < clocks.size(); ++chunk)
          moves_heard.push_back({0, chunk, clocks[chunk]});
      }
      if (const auto* open = std::get_if<open_job_call>(&call.message))
        called.push_back(callee_name + " opens as " + std::to_string(open->incarnation));
      if (const auto* open = std::get_if<open_table_call>(&call.message)) {
        auto text = callee_name + " has";
        for (const auto clock : open->first_clocks) text += " " + std::to_string(clock);
        called.push_back(text);
      }
      core.call_done(1, call.call, {}, out, 0, moves_heard);
    }
    return called;
  }
  names moved() const {
    names moves_heard;
    for (const auto& move : out.moves)
      moves_heard.push_back((move.aggregates ? "a" : "w") + std::to_string(move.index) +
                            " to " + move.message.address);
    return moves_heard;
  }
};

TEST_F(coordinator_set_up_test, the_next_process_goes_on_where_upstream_is) {
  core.worker_finished(1, "j", 1, {}, "", out);
  EXPECT_TRUE(out.calls.empty()) << "its aggregator has heard it";
  core.aggregator_lost(1, "j", 0, "killed", out);
  core.worker_joined(1, {.job = "j", .rank = 0, .incarnation = 2, .address = "w0'"}, 40, out);
  EXPECT_TRUE(out.calls.empty()) << "let in when somebody can say where it goes on";
  core.open_table({.job = "j",
                   .spec = tree_cluster().jobs[0].tables[0],
                   .options_given = false,
                   .optimizer_given = false},
                  41, out);
  EXPECT_EQ(out.answers.back().result.code(), errc::ok) << "it is open";
  EXPECT_FALSE(core.aggregator_joined(1, "j", 0, "a0", 42, out, 0)) << "which process is that?";
  EXPECT_TRUE(core.aggregator_joined(1, "j", 0, "b0", 42, out, 2));
  EXPECT_EQ(answer_with({7, 6, 7}), (names{"a2 admits 0 at b0", "a2 is asked"}));
  EXPECT_EQ(answer_with({}), (names{"a0 opens as 2", "a0 has 7 6 7", "a0 admits 0 at w0'",
                                    "a0 admits 1 at w1, finished"}));
  EXPECT_EQ(moved(), (names{"w0 to b0", "w1 to b0"}));
  EXPECT_EQ(answer_with({}), (names{"a0 admits 0 at w0'"})) << "the one that waited";
  const auto& welcome = std::get<worker_welcome>(out.answers.back().value);
  EXPECT_EQ(welcome.shard_addresses, names{"b0"});
  EXPECT_GT(welcome.shard_epochs[0], frame_epoch(1, 0));
  out = {};
  core.worker_finished(1, "j", 0, {}, "", out);
  EXPECT_EQ(answer_with({}), names{"a0 admits 0 at w0', finished"})
      << "it may have told the one before";
  EXPECT_FALSE(core.aggregator_joined(1, "j", 0, "a0", 43, out, 1)) << "it woke up";
}

TEST_F(coordinator_set_up_test, those_below_wait_for_those_above) {
  core.aggregator_lost(1, "j", 0, "killed", out);
  core.aggregator_lost(1, "j", 2, "killed", out);
  core.aggregator_joined(1, "j", 0, "b0", 42, out, 2);
  EXPECT_TRUE(out.calls.empty());
  core.aggregator_joined(1, "j", 2, "b2", 42, out, 2);
  EXPECT_EQ(answer_with({3, 4, 3}),
            (names{"s0 admits 0 at b2", "s0 is asked", "s1 admits 0 at b2", "s1 is asked"}));
  EXPECT_EQ(answer_with({}),
            (names{"a2 opens as 2", "a2 has 3 4 3", "a2 admits 0 at b0", "a2 admits 2 at a1"}));
  EXPECT_EQ(moved(), (names{"a0 to b2", "a1 to b2"}));
  EXPECT_EQ(answer_with({3, 3, 3}), (names{"a2 admits 0 at b0", "a2 is asked"}));
}

// Found by simulation: its connection to the coordinator was broken when it was told.
TEST_F(coordinator_set_up_test, an_aggregator_that_returns_hears_who_is_above_it_now) {
  core.aggregator_lost(1, "j", 2, "killed", out);
  core.aggregator_joined(1, "j", 2, "b2", 42, out, 2);
  answer_with({3, 4, 3});
  answer_with({});
  out = {};
  EXPECT_TRUE(core.aggregator_joined(1, "j", 0, "a0", 43, out, 1));
  EXPECT_EQ(moved(), names{"a0 to b2"});
  core.aggregator_lost(1, "j", 0, "cut off", out);
  out = {};
  EXPECT_TRUE(core.aggregator_joined(1, "j", 0, "a0", 44, out, 1));
  EXPECT_EQ(moved(), names{"a0 to b2"}) << "it was taken for dead, and has its job";
}

TEST_F(coordinator_set_up_test, one_that_dies_while_it_is_set_up_is_set_up_anew) {
  core.aggregator_lost(1, "j", 0, "killed", out);
  core.aggregator_joined(1, "j", 0, "b0", 42, out, 2);
  core.aggregator_lost(1, "j", 0, "killed", out);
  core.aggregator_joined(1, "j", 0, "c0", 42, out, 3);
  EXPECT_EQ(answer_with({1, 1, 1}),
            (names{"a2 admits 0 at b0", "a2 is asked", "a2 admits 0 at c0", "a2 is asked"}));
  const auto moves_heard = answer_with({});
  EXPECT_EQ(moves_heard.front(), "a0 opens as 3");
  EXPECT_EQ(moved(), (names{"w0 to c0", "w1 to c0"}));
}

// Its parent dies before it answers: it waits for the one after that.
TEST_F(coordinator_set_up_test, who_was_to_say_may_die) {
  core.aggregator_lost(1, "j", 0, "killed", out);
  core.aggregator_joined(1, "j", 0, "b0", 42, out, 2);
  out.calls.clear();  // lost with the connection
  core.aggregator_lost(1, "j", 2, "killed", out);
  EXPECT_TRUE(out.calls.empty());
  core.aggregator_joined(1, "j", 2, "b2", 42, out, 2);
  answer_with({3, 3, 3});
  answer_with({});
  EXPECT_EQ(answer_with({3, 3, 3}), (names{"a2 admits 0 at b0", "a2 is asked"}));
  EXPECT_NE(core.status(2, 0).jobs[0].state, job_state::failed);
}

// Found by simulation: it handed on the sum of a clock without the rank to a shard that did not
// know over how many its mean is.
TEST_F(coordinator_set_up_test, who_has_left_is_here_until_the_shards_have_heard) {
  core.worker_leaves(1, "j", 1, 70, out);
  const auto is_told_to_shard = [](const auto& call) {
    return call.aggregator_of.empty() && std::holds_alternative<membership_call>(call.message);
  };
  const auto any_told = [&] {
    return std::any_of(out.calls.begin(), out.calls.end(), is_told_to_shard);
  };
  while (!out.calls.empty() && !any_told()) answer_with({});
  ASSERT_TRUE(any_told());
  const auto slow = std::exchange(out.calls, {});
  core.aggregator_lost(1, "j", 0, "killed", out);
  core.aggregator_joined(1, "j", 0, "b0", 42, out, 2);
  EXPECT_EQ(answer_with({3, 3, 3}), (names{"a2 admits 0 at b0", "a2 is asked"}));
  EXPECT_EQ(out.calls.size(), 4U) << "nothing of who has left";
  EXPECT_EQ(answer_with({}),
            (names{"a0 opens as 2", "a0 has 3 3 3", "a0 admits 0 at w0", "a0 admits 1 at w1"}));
  for (const auto& call : slow) core.call_done(1, call.call, {}, out);
  ASSERT_EQ(out.calls.size(), 1U);
  EXPECT_EQ(out.calls[0].aggregator_of, "j");
  EXPECT_TRUE(std::get<membership_call>(out.calls[0].message).change.pushes_here);
}

TEST_F(coordinator_aggregators_test, an_aggregator_that_refuses_a_table_fails_the_job) {
  join_all();
  answer_calls<open_table_call>();
  answer_calls<open_table_call>({errc::io_error, "no memory"});
  EXPECT_EQ(core.status(2, 0).jobs[0].state, job_state::failed);
  EXPECT_NE(core.status(2, 0).jobs[0].failure.find("no memory"), std::string::npos);
  EXPECT_EQ(answer_calls<close_job_call>(),
            (names{"shard 0", "shard 1", "aggregator 0", "aggregator 1", "aggregator 2"}));
}

}  // namespace
}  // namespace tidegate::policies
