#include "policies/shard/core.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "tests/policies/shard/fixture.hpp"
#include "tests/support/allocations.hpp"

namespace tidegate::policies {
namespace {

TEST(shard_core, bsp_sums_a_clock_in_rank_order_whatever_the_order_of_arrival) {
  auto core = make_core({consistency_kind::bsp, 0}, 3);
  shard_effects out;
  core.push(tag(2, 0), 12, out);
  core.push(tag(0, 0), 10, out);
  EXPECT_TRUE(out.list.empty()) << "held, not acknowledged";
  EXPECT_EQ(core.pushes_held(), 2u);
  core.push(tag(1, 0), 11, out);
  ASSERT_EQ(all<apply>(out).size(), 1u);
  ASSERT_EQ(out.inputs.size(), 3u);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(out.inputs[rank].rank, rank);
    EXPECT_EQ(out.inputs[rank].payload, 10 + rank);
  }
  EXPECT_EQ(all<ack>(out).size(), 3u);
  EXPECT_EQ(all<release>(out).size(), 3u);
  EXPECT_TRUE(std::holds_alternative<apply>(out.list.front())) << "applied before acknowledged";
  EXPECT_EQ(core.pushes_held(), 0u);
}

TEST(shard_core, a_step_has_the_rate_of_the_lowest_rank_that_pushed) {
  auto core = make_core({consistency_kind::bsp, 0}, 3);
  shard_effects out;
  const auto push = [&](std::uint32_t rank, std::uint64_t clock, payload_handle payload,
                        float rate) {
    auto name = tag(rank, clock);
    name.rate = rate;
    core.push(name, payload, out);
  };
  push(2, 0, 12, 0.25F);
  push(1, 0, 11, 0.5F);
  push(0, 0, no_payload, 0.75F);  // a skip has no say
  push(0, 1, 20, 2.0F);
  push(1, 1, 21, 3.0F);
  push(2, 1, 22, 4.0F);
  ASSERT_EQ(all<apply>(out).size(), 2u);
  EXPECT_EQ(all<apply>(out)[0].rate, 0.5F);
  EXPECT_EQ(all<apply>(out)[1].rate, 2.0F);
}

TEST(shard_core, a_duplicate_is_applied_once_and_acknowledged_again) {
  auto core = make_core({consistency_kind::async, 0}, 1);
  shard_effects out;
  core.push(tag(0, 0), 1, out);
  core.push(tag(0, 0), 2, out);
  EXPECT_EQ(all<apply>(out).size(), 1u);
  EXPECT_EQ(all<ack>(out).size(), 2u);
  EXPECT_EQ(all<release>(out).size(), 2u);
}

TEST(shard_core, a_duplicate_of_a_held_push_waits_for_the_one_acknowledgement) {
  auto core = make_core({consistency_kind::bsp, 0}, 2);
  shard_effects out;
  core.push(tag(0, 0), 1, out);
  core.push(tag(0, 0), 2, out);
  EXPECT_TRUE(all<ack>(out).empty());
  ASSERT_EQ(all<release>(out).size(), 1u);
  EXPECT_EQ(all<release>(out)[0].payload, 2u);
}

TEST(shard_core, pushes_of_a_worker_are_put_back_in_order) {
  auto core = make_core({consistency_kind::ssp, 9}, 1);
  shard_effects out;
  core.push(tag(0, 1), 21, out);
  EXPECT_TRUE(all<apply>(out).empty());
  core.push(tag(0, 0), 20, out);
  ASSERT_EQ(all<apply>(out).size(), 2u);
  EXPECT_EQ(out.inputs[0].payload, 20u);
  EXPECT_EQ(out.inputs[1].payload, 21u);
}

TEST(shard_core, a_reply_acknowledges_the_push_before_it) {
  auto core = make_core({consistency_kind::bsp, 0}, 3);
  shard_effects out;
  core.push(tag(0, 0), 10, out, true);
  core.push(tag(1, 0), 11, out);  // does not pull
  core.push(tag(2, 0), 12, out, true);
  ASSERT_EQ(all<reply>(out).size(), 2u);
  for (const auto& entry : all<reply>(out)) {
    EXPECT_TRUE(entry.applied);
    EXPECT_EQ(entry.tag.clock, 1u);
  }
  ASSERT_EQ(all<ack>(out).size(), 1u) << "of the one without a pull";
  EXPECT_EQ(all<ack>(out)[0].tag.rank, 1u);
  EXPECT_EQ(all<release>(out).size(), 3u);
  out.clear();
  core.pull(tag(1, 1), false, out);
  ASSERT_EQ(all<reply>(out).size(), 1u);
  EXPECT_FALSE(all<reply>(out)[0].applied) << "acknowledged already";
}

TEST(shard_core, a_refusal_stays_a_frame_of_its_own) {
  auto core = make_core({consistency_kind::async, 0}, 1);
  shard_effects out;
  core.push(tag(0, 7), 10, out, true);
  ASSERT_EQ(all<ack>(out).size(), 1u);
  EXPECT_NE(all<ack>(out)[0].code, reply_code::ok);
  for (const auto& entry : all<reply>(out)) EXPECT_FALSE(entry.applied);
}

TEST(shard_core, refuses_what_it_should) {
  auto core = make_core({consistency_kind::bsp, 0}, 2);
  const auto check = [&](auto change, std::uint64_t bytes = 32) {
    auto bad = tag(0, 0);
    change(bad);
    const auto admitted = core.begin_push(bad, bytes);
    const bool takes = admitted.kind == push_admission::verdict::take;
    if (takes) core.cancel_push(bad);
    EXPECT_EQ(takes, admitted.code == reply_code::ok);
    return admitted.code;
  };
  EXPECT_EQ(check([](auto&) {}), reply_code::ok);
  EXPECT_EQ(check([](auto& t) { t.job = 78; }), reply_code::unknown_job);
  EXPECT_EQ(check([](auto& t) { t.epoch = 3; }), reply_code::stale_epoch);
  EXPECT_EQ(check([](auto& t) { t.rank = 2; }), reply_code::unknown_worker);
  EXPECT_EQ(check([](auto& t) { t.incarnation = 2; }), reply_code::unknown_worker);
  EXPECT_EQ(check([](auto& t) { t.incarnation = 0; }), reply_code::unknown_worker);
  EXPECT_EQ(check([](auto& t) { t.table = 6; }), reply_code::unknown_table);
  EXPECT_EQ(check([](auto& t) { t.chunk = 1; }), reply_code::unknown_chunk);
  EXPECT_EQ(check([](auto&) {}, 28), reply_code::wrong_size);
  EXPECT_EQ(check([](auto& t) { t.clock = 2; }), reply_code::beyond_window);
  EXPECT_EQ(check([](auto& t) { t.clock = clock_vector::infinity; }),
            reply_code::beyond_window);
  shard_effects out;
  core.finished(tag(0, 0), out);
  EXPECT_EQ(check([](auto&) {}), reply_code::after_finish);
  // What came before the farewell may come again and is acknowledged again.
  auto other = make_core({consistency_kind::async, 0}, 2);
  out.clear();
  other.push(tag(0, 0), 1, out);
  other.finished(tag(0, 1), out);
  out.clear();
  other.push(tag(0, 0), 2, out);
  EXPECT_EQ(all<ack>(out).at(0).code, reply_code::ok);
}

TEST(shard_core, a_refused_push_gives_its_payload_back_and_is_answered) {
  auto core = make_core({consistency_kind::bsp, 0}, 2);
  shard_effects out;
  core.push(tag(0, 2), 9, out);
  ASSERT_EQ(all<release>(out).size(), 1u);
  ASSERT_EQ(all<ack>(out).size(), 1u);
  EXPECT_EQ(all<ack>(out)[0].code, reply_code::beyond_window);
}

TEST(shard_core, one_pull_of_a_chunk_at_a_time) {
  auto core = make_core({consistency_kind::bsp, 0}, 2);
  shard_effects out;
  core.push(tag(0, 0), 1, out);
  core.pull(tag(0, 1), false, out);
  core.pull(tag(0, 1), false, out);  // resent: answered once, when due
  EXPECT_TRUE(all<reply>(out).empty());
  core.pull(tag(0, 2), false, out);
  ASSERT_EQ(all<reply>(out).size(), 1u);
  EXPECT_EQ(all<reply>(out)[0].code, reply_code::pull_under_way);
  out.clear();
  core.push(tag(1, 0), 2, out);
  ASSERT_EQ(all<reply>(out).size(), 1u);
  EXPECT_EQ(all<reply>(out)[0].tag, tag(0, 1));
  EXPECT_EQ(all<reply>(out)[0].where.version, 1u);
  EXPECT_EQ(all<reply>(out)[0].where.min_clock, 1u);
}

TEST(shard_core, skips_count_as_clocks_without_gradient) {
  auto core = make_core({consistency_kind::bsp, 0}, 2);
  shard_effects out;
  core.push(tag(0, 0), 1, out);
  core.push(tag(1, 0), no_payload, out);
  ASSERT_EQ(all<apply>(out).size(), 1u);
  EXPECT_EQ(out.inputs.size(), 1u);
  EXPECT_EQ(all<ack>(out).size(), 2u);
  out.clear();
  core.push(tag(0, 1), no_payload, out);
  core.push(tag(1, 1), no_payload, out);
  EXPECT_TRUE(all<apply>(out).empty()) << "no gradient, no step";
  EXPECT_EQ(all<ack>(out).size(), 2u);
}

TEST(shard_core, a_finished_worker_holds_nobody_up) {
  auto core = make_core({consistency_kind::bsp, 0}, 2);
  shard_effects out;
  core.push(tag(0, 0), 1, out);
  EXPECT_TRUE(all<apply>(out).empty());
  core.finished(tag(1, 0), out);
  ASSERT_EQ(all<apply>(out).size(), 1u);
  EXPECT_EQ(out.inputs.size(), 1u);
}

TEST(shard_core, a_new_incarnation_fences_the_old_one_and_keeps_its_clocks) {
  auto core = make_core({consistency_kind::async, 0}, 1);
  shard_effects out;
  core.push(tag(0, 0), 1, out);
  EXPECT_EQ(core.admin().admit_worker(job, 0, 2), reply_code::ok);
  EXPECT_EQ(core.admin().admit_worker(job, 0, 1), reply_code::unknown_worker);
  out.clear();
  core.push(tag(0, 1), 2, out);
  EXPECT_EQ(all<ack>(out).at(0).code, reply_code::unknown_worker);
  out.clear();
  auto again = tag(0, 0);
  again.incarnation = 2;
  core.push(again, 3, out);
  EXPECT_TRUE(all<apply>(out).empty()) << "applied by the one before it";
  EXPECT_EQ(all<ack>(out).at(0).code, reply_code::ok);
}

TEST(shard_core, a_push_has_one_place_however_often_it_is_sent) {
  using verdict = push_admission::verdict;
  auto core = make_core({consistency_kind::bsp, 0}, 2);
  shard_effects out;
  EXPECT_EQ(core.begin_push(tag(0, 0), 32).kind, verdict::take);
  EXPECT_EQ(core.begin_push(tag(0, 0), 32).kind, verdict::drop) << "it is on its way";
  EXPECT_EQ(core.begin_push(tag(0, 1), 32).kind, verdict::take) << "another clock";
  core.cancel_push(tag(0, 0));
  EXPECT_EQ(core.begin_push(tag(0, 0), 32).kind, verdict::take)
      << "the first was lost on the way";
  core.push(tag(0, 0), 1, out);
  EXPECT_EQ(core.begin_push(tag(0, 0), 32).kind, verdict::drop) << "held";
  core.push(tag(1, 0), 2, out);
  const auto again = core.begin_push(tag(0, 0), 32);
  EXPECT_EQ(again.kind, verdict::refuse);
  EXPECT_EQ(again.code, reply_code::ok) << "applied: acknowledged again without its payload";
  EXPECT_EQ(core.begin_push(tag(0, 0), 28).code, reply_code::wrong_size);
  EXPECT_EQ(core.admin().admit_worker(job, 0, 2), reply_code::ok);
  auto fresh = tag(0, 1);
  fresh.incarnation = 2;
  EXPECT_EQ(core.begin_push(fresh, 32).kind, verdict::take)
      << "what the old incarnation had on its way does not block the new one";
}

TEST(shard_core, a_table_that_is_forgotten_was_never_there) {
  auto core = make_core({consistency_kind::bsp, 0}, 2);
  const std::vector<chunk_place> places{{.chunk = 0, .shard = 0, .first = 0, .elements = 8},
                                        {.chunk = 1, .shard = 0, .first = 8, .elements = 8}};
  EXPECT_EQ(core.admin().open_table(job, 6, places)[1].slot, 3u);
  core.admin().forget_table(6);
  core.admin().forget_table(9);
  shard_effects out;
  auto at = tag(0, 0);
  at.table = 6;
  EXPECT_EQ(core.registry().check_table(at), reply_code::unknown_table);
  EXPECT_EQ(core.begin_push(at, 32).code, reply_code::unknown_table);
  EXPECT_TRUE(core.registry().slots_of(6).empty());
  core.pull(at, false, out);
  EXPECT_EQ(all<reply>(out).at(0).code, reply_code::unknown_table);
  EXPECT_EQ(core.admin().admit_worker(job, 0, 2), reply_code::ok);
  EXPECT_EQ(core.admin().open_table(job, 6, places)[1].slot, 5u) << "other slots";
  core.push(tag(1, 0), 1, out);
  core.admin().close_job(job, out);
  EXPECT_EQ(core.pushes_held(), 0u);
}

TEST(shard_core, closing_a_job_refuses_whoever_waits_and_whatever_comes) {
  auto core = make_core({consistency_kind::bsp, 0}, 2);
  shard_effects out;
  core.push(tag(0, 0), 1, out);
  core.push(tag(0, 1), 2, out);
  core.pull(tag(0, 2), false, out);
  EXPECT_TRUE(out.list.empty());
  core.admin().close_job(job, out);
  ASSERT_EQ(all<ack>(out).size(), 2u);
  EXPECT_EQ(all<ack>(out)[1].code, reply_code::job_ended);
  EXPECT_EQ(all<release>(out).size(), 2u);
  ASSERT_EQ(all<reply>(out).size(), 1u);
  EXPECT_EQ(all<reply>(out)[0].code, reply_code::job_ended);
  EXPECT_EQ(core.pushes_held(), 0u);
  out.clear();
  core.push(tag(1, 0), 3, out);
  EXPECT_EQ(all<ack>(out).at(0).code, reply_code::job_ended);
  EXPECT_EQ(all<release>(out).size(), 1u);
}

// Random workers over a network that reorders and duplicates: exactly once, in order, bounded.
TEST(shard_core, applies_exactly_once_under_reordering_and_duplicates) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    runtime::rng random(seed);
    constexpr std::uint32_t workers = 3;
    constexpr std::uint64_t clocks = 8;
    const consistency_kind kinds[] = {consistency_kind::bsp, consistency_kind::ssp,
                                      consistency_kind::async};
    auto core = make_core({kinds[seed % 3], 2}, workers);
    std::vector<frame_tag> network;
    std::vector<std::uint64_t> sent(workers, 0), acked(workers, 0);
    std::set<std::tuple<std::uint32_t, std::uint64_t>> in_flight;
    std::vector<payload_handle> outstanding;
    payload_handle next = 1;
    std::uint64_t inputs = 0;
    shard_effects out;
    const auto finished = [&] {
      return std::all_of(acked.begin(), acked.end(), [](auto n) { return n == clocks; });
    };
    for (int step = 0; step < 20'000 && !finished(); ++step) {
      for (std::uint32_t rank = 0; rank < workers; ++rank)
        if (sent[rank] < clocks && sent[rank] < acked[rank] + 2) {
          network.push_back(tag(rank, sent[rank]));
          network.push_back(tag(rank, sent[rank]++));  // each frame twice
        }
      if (network.empty()) break;
      const auto at = random.below(network.size());
      const auto frame = network[at];
      network.erase(network.begin() + static_cast<std::ptrdiff_t>(at));
      out.clear();
      outstanding.push_back(next);
      core.push(frame, next++, out);
      for (const auto& effect : all<apply>(out)) inputs += effect.count;
      for (const auto& effect : all<release>(out)) {
        const auto held = std::find(outstanding.begin(), outstanding.end(), effect.payload);
        ASSERT_NE(held, outstanding.end()) << "released twice";
        outstanding.erase(held);
      }
      for (const auto& effect : all<ack>(out)) {
        ASSERT_EQ(effect.code, reply_code::ok);
        if (effect.tag.clock == acked[effect.tag.rank]) ++acked[effect.tag.rank];
      }
      ASSERT_LE(core.pushes_held(), workers * runtime::limits::clocks_in_flight_max);
    }
    ASSERT_TRUE(finished()) << "seed " << seed;
    EXPECT_EQ(inputs, workers * clocks) << "seed " << seed;
    EXPECT_EQ(outstanding.size(), core.pushes_held());
  }
}

TEST(shard_core, a_warm_clock_allocates_nothing) {
  auto core = make_core({consistency_kind::bsp, 0}, 4);
  shard_effects out;
  const auto one_clock = [&](std::uint64_t clock) {
    for (std::uint32_t rank = 0; rank < 4; ++rank)
      for (std::uint32_t chunk : {0u, 2u}) {
        out.clear();
        core.push(tag(rank, clock, chunk), 1 + rank, out);
        core.pull(tag(rank, clock + 1, chunk), false, out);
        for (const auto& effect : out.list)
          if (const auto* entry = std::get_if<reply>(&effect))
            core.sent(entry->slot, entry->tag.rank, entry->where.version_buffer);
      }
  };
  for (std::uint64_t clock = 0; clock < 4; ++clock) one_clock(clock);
  const auto before = tests::allocations();
  for (std::uint64_t clock = 4; clock < 100; ++clock) one_clock(clock);
  EXPECT_EQ(tests::allocations() - before, 0u);
}

}  // namespace
}  // namespace tidegate::policies
