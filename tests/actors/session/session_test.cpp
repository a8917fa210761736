// The client API against a real cluster in this process.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "runtime/base/sha256.hpp"
#include "runtime/kernels/update.hpp"
#include "runtime/transport/loopback.hpp"
#include "tests/actors/session/session_fixture.hpp"
#include "tests/support/workload.hpp"

namespace tidegate::tests {
namespace {

TEST_F(session_test, one_worker_sgd_by_hand) {
  local_cluster cluster(small_cluster(2, 1, {consistency_kind::bsp, 0}), links());
  cluster.run_workers("job", [&](session& s) {
    EXPECT_EQ(s.info().policy, "bsp");
    const auto t = open(s, 100, 3.0F);
    floats w(100), g(100, 2.0F);
    ASSERT_TRUE(s.pull(t, w).wait().ok());
    EXPECT_EQ(w, floats(100, 3.0F));
    ASSERT_TRUE(s.push(t, g).wait().ok());
    ASSERT_TRUE(s.clock().ok());
    EXPECT_EQ(s.now(), 1u);
    ASSERT_TRUE(s.pull(t, w).wait().ok());
    EXPECT_EQ(w, floats(100, 2.0F)) << "3 - 0.5 * 2";
    EXPECT_TRUE(s.finish().ok());
  });
  EXPECT_EQ(cluster.status().jobs[0].state, policies::job_state::done);
}

// The whole job again, by one thread and plain loops over the same kernels' definition.
TEST_F(session_test, bsp_equals_a_sequential_reference) {
  constexpr std::uint32_t workers = 3;
  workload_options work;
  auto spec = small_cluster(2, workers, {consistency_kind::bsp, 0}, 128);
  local_cluster cluster(spec, links());
  cluster.run_workers("job", [&](session& s) { EXPECT_TRUE(run_workload(s, work).ok()); });

  runtime::sha256 hash;
  for (std::size_t t = 0; t < work.shapes.size(); ++t) {
    std::uint64_t n = 1;
    for (auto d : work.shapes[t]) n *= d;
    floats w(n);
    const auto key = runtime::stream_key(spec.jobs[0].seed, "table-" + std::to_string(t));
    for (std::uint64_t i = 0; i < n; ++i) w[i] = runtime::uniform_signed(key, i);
    for (std::uint64_t c = 0; c < work.clocks; ++c)
      for (std::uint64_t i = 0; i < n; ++i) {
        float g[workers];
        for (std::uint32_t r = 0; r < workers; ++r)
          g[r] = workload_gradient(workload_key(spec.jobs[0].seed, r, c, t), i, w[i]);
        const float sum = (g[0] + g[1]) + g[2];  // the canonical tree of three ranks
        w[i] = w[i] - 0.5F * ((1.0F / workers) * sum);
      }
    hash.update(std::as_bytes(std::span(w)));
  }
  EXPECT_EQ(cluster.status().jobs[0].parameters_sha256, hash.finish());
}

TEST_F(session_test, wrong_shapes_are_named) {
  local_cluster cluster(small_cluster(1, 1, {consistency_kind::bsp, 0}), links());
  cluster.run_workers("job", [&](session& s) {
    const auto t = open(s, 10);
    floats wrong(9);
    expect(s.push(t, wrong).wait(), errc::invalid_argument,
           "table 't' with 9 elements; it has 10");
    expect(s.pull(t, wrong).wait(), errc::invalid_argument, "with 9 elements");
    expect(s.push({77, 9}, wrong).wait(), errc::not_found, "did not open");
    auto other = s.open_table("t", {11});
    ASSERT_FALSE(other);
    expect(other.error(), errc::invalid_argument, "another shape");
    EXPECT_FALSE(s.open_table("", {1}));
    EXPECT_FALSE(s.open_table("zero", {0}));
    tidegate::table_options unknown;
    unknown.optimizer.name = "sdg";
    auto bad = s.open_table("x", {1}, unknown);
    ASSERT_FALSE(bad);
    expect(bad.error(), errc::invalid_argument, "'sdg'");
    EXPECT_TRUE(s.finish().ok());
  });
}

TEST_F(session_test, options_that_yaml_would_refuse_are_refused) {
  local_cluster cluster(small_cluster(1, 1, {consistency_kind::bsp, 0}), links());
  constexpr auto nan = std::numeric_limits<float>::quiet_NaN();
  using options = tidegate::table_options;
  using change = void (*)(options&);
  const std::pair<change, std::string> refused[] = {
      {[](options& o) { o.optimizer = {.name = "sgd", .learning_rate = -1.0F}; },
       "optimizer.learning_rate: -1"},
      {[](options& o) { o.optimizer = {.name = "sgd", .learning_rate = nan}; },
       "optimizer.learning_rate: nan"},
      {[](options& o) { o.optimizer = {.name = "momentum", .momentum = 5.0F}; },
       "optimizer.momentum: 5"},
      {[](options& o) { o.optimizer = {.name = "sgd", .momentum = 0.5F}; }, "does not belong"},
      {[](options& o) { o.optimizer.learning_rate = 0.5F; }, "without a name"},
      {[](options& o) { o.init_uniform = -1.0F; }, "init_uniform: -1"},
      {[](options& o) { o.init_constant = nan; }, "init_constant: nan"},
      {[](options& o) { o.init_uniform = o.init_constant = 1.0F; }, "both given"}};
  cluster.run_workers("job", [&](session& s) {
    for (const auto& [set, message] : refused) {
      options given;
      set(given);
      const auto bad = s.open_table("x", {1}, given);
      ASSERT_FALSE(bad) << message;
      expect(bad.error(), errc::invalid_argument, message);
      expect(bad.error(), errc::invalid_argument, "options of table 'x'");
      expect(bad.error(), errc::invalid_argument, "; allowed: ");
    }
    EXPECT_TRUE(s.finish().ok());
  });
}

TEST_F(session_test, a_table_may_start_with_what_one_worker_pushes) {
  for (const auto kind :
       {consistency_kind::bsp, consistency_kind::ssp, consistency_kind::async}) {
    auto spec = small_cluster(3, 2, {kind, 1});
    spec.chunk_bytes = 256;
    local_cluster cluster(spec, links());
    cluster.run_workers("job", [&](session& s) {
      tidegate::table_options options;
      options.optimizer = {.name = "adam", .learning_rate = 0.5F};
      options.init_pushed = true;
      const auto t = s.open_table("t", {100}, options);
      ASSERT_TRUE(t);
      EXPECT_EQ(s.info().reduce, "mean");
      floats first(100), seen(100);
      for (std::size_t i = 0; i < first.size(); ++i) first[i] = 0.1F * static_cast<float>(i);
      if (s.info().rank == 1) {
        EXPECT_TRUE(s.push(*t, first).wait().ok());
      }
      EXPECT_TRUE(s.clock().ok());
      EXPECT_TRUE(s.pull_final(*t, seen).wait().ok());
      EXPECT_EQ(seen, first);  // not a third of it, and no step of Adam's
      // From then on the optimizer steps, from the beginning of its state.
      if (kind == consistency_kind::bsp) {  // under others a fast worker's may be there already
        EXPECT_TRUE(s.push(*t, floats(100, 2.0F)).wait().ok());
        EXPECT_TRUE(s.clock().ok());
        EXPECT_TRUE(s.pull_final(*t, seen).wait().ok());
        EXPECT_NEAR(seen[7], first[7] - 0.5F, 1e-5F);
      }
      EXPECT_TRUE(s.finish().ok());
    });
  }
}

TEST_F(session_test, a_session_that_has_left_refuses_every_call_and_keeps_its_memory) {
  local_cluster cluster(small_cluster(1, 1, {consistency_kind::bsp, 0}), links());
  cluster.run_workers("job", [&](session& s) {
    const auto t = open(s, 10);
    const auto gradient = s.gradient(t);
    gradient[3] = 5.0F;
    EXPECT_TRUE(s.finish().ok());
    s.leave();
    s.leave();
    EXPECT_EQ(gradient[3], 5.0F);
    floats own(10);
    for (const auto& outcome :
         {s.push(t, own).wait(), s.pull(t, own).wait(), s.clock(), s.finish()})
      EXPECT_EQ(outcome.code(), errc::out_of_order) << outcome.to_string();
    EXPECT_FALSE(s.open_table("other", {1}));
  });
}

TEST_F(session_test, parameters_end_with_the_next_push_or_pull_of_the_table) {
  for (const auto kind :
       {consistency_kind::bsp, consistency_kind::ssp, consistency_kind::async})
    for (const auto rule :
         {policies::worker_loss_rule::restart, policies::worker_loss_rule::fail}) {
      auto spec = small_cluster(2, 1, {kind, 0});
      spec.jobs[0].on_worker_loss = rule;
      spec.chunk_bytes = 1024;
      local_cluster cluster(spec, links());
      cluster.run_workers("job", [&](session& s) {
        const auto t = open(s, 1000, 1.0F);
        floats w(1000);
        const auto expect_empty = [&](const char* when) {
          EXPECT_TRUE(s.parameters(t).empty()) << when;
          EXPECT_TRUE(s.parameter_stretches(t).empty()) << when;
        };
        expect_empty("before the first pull");
        ASSERT_TRUE(s.pull(t, w).wait().ok());
        expect_empty("after a pull to the program's own memory");
        ASSERT_TRUE(s.pull(t).wait().ok());
        EXPECT_EQ(s.parameters(t).size(), 1000U);
        ASSERT_TRUE(s.pull(t, w).wait().ok());
        expect_empty("after a pull to the program's own memory");
        ASSERT_TRUE(s.pull(t).wait().ok());
        std::ranges::fill(s.gradient(t), 1.0F);
        ASSERT_TRUE(s.push(t).wait().ok());
        expect_empty("after a push");
        expect(s.push(t).wait(), errc::out_of_order, "push");
        ASSERT_TRUE(s.clock().ok());
        ASSERT_TRUE(s.pull(t).wait().ok());
        ASSERT_EQ(s.parameters(t).size(), 1000U);
        EXPECT_EQ(s.parameters(t)[999], 0.5F);
        EXPECT_TRUE(s.finish().ok());
      });
    }
}

TEST_F(session_test, gradients_that_are_not_finite) {
  for (const bool allow : {false, true}) {
    auto spec = small_cluster(1, 1, {consistency_kind::bsp, 0});
    if (allow) spec.jobs[0].not_finite = policies::not_finite_rule::allow;
    local_cluster cluster(spec, links());
    cluster.run_workers("job", [&](session& s) {
      const auto t = open(s, 10);
      floats g(10, 1.0F);
      g[7] = std::numeric_limits<float>::quiet_NaN();
      const auto pushed = s.push(t, g).wait();
      if (allow) {
        EXPECT_TRUE(pushed.ok());
      } else {
        expect(pushed, errc::not_finite, "'t' has NaN at element 7 (worker 0, clock 0)");
        g[7] = -std::numeric_limits<float>::infinity();
        expect(s.push(t, g).wait(), errc::not_finite, "infinity at element 7");
        g[7] = 0;
        EXPECT_TRUE(s.push(t, g).wait().ok()) << "nothing was lost";
      }
      EXPECT_TRUE(s.clock().ok());
      EXPECT_TRUE(s.finish().ok());
    });
  }
}

TEST_F(session_test, calls_out_of_order_are_errors_and_lose_nothing) {
  local_cluster cluster(small_cluster(1, 1, {consistency_kind::bsp, 0}), links());
  cluster.run_workers("job", [&](session& s) {
    const auto t = open(s, 4);
    floats g(4, 1.0F), w(4);
    EXPECT_TRUE(s.push(t, g).wait().ok());
    expect(s.push(t, g).wait(), errc::out_of_order, "push of table 't' at clock 0");
    expect(s.pull(t, w).wait(), errc::out_of_order, "then clock()");
    expect(s.finish(), errc::out_of_order, "finish()");
    EXPECT_TRUE(s.clock().ok());
    expect(s.open_table("late", {1}).error(), errc::out_of_order,
           "before the first push() or clock()");
    EXPECT_TRUE(s.pull(t, w).wait().ok());
    EXPECT_EQ(w, floats(4, -0.5F));
    EXPECT_TRUE(s.finish().ok());
  });
}

// Integers: a lost or doubled update shows as a wrong sum, whatever the order.
class exact_sums : public testing::TestWithParam<policies::consistency_spec> {};

TEST_P(exact_sums, every_update_counts_once_and_the_bound_holds) {
  constexpr std::uint32_t workers = 4;
  constexpr std::uint64_t clocks = 40;
  runtime::loopback_network network({11, 3});  // late and out of order
  auto spec = small_cluster(2, workers, GetParam());
  spec.jobs[0].reduce = policies::reduce_kind::sum;
  spec.jobs[0].optimizer.learning_rate = 1.0F;
  local_cluster cluster(spec, [&] {
    return runtime::expected<std::unique_ptr<runtime::link>>(network.make_link());
  });
  std::atomic<std::uint64_t> lead_max{0};
  cluster.run_workers("job", [&](session& s) {
    auto table = s.open_table("sum", {100});
    ASSERT_TRUE(table);
    floats w(100);
    std::vector<floats> g(2, floats(100, -1.0F));
    for (std::uint64_t c = 0; c < clocks; ++c) {
      if (s.info().rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      ASSERT_TRUE(s.pull(*table, w).wait().ok());
      const auto low = static_cast<std::uint64_t>(*std::min_element(w.begin(), w.end()));
      const auto lag = GetParam().kind == consistency_kind::ssp ? GetParam().staleness : 0;
      if (GetParam().kind == consistency_kind::bsp) {
        ASSERT_EQ(w, floats(100, static_cast<float>(workers * c))) << "version c exactly";
      } else if (GetParam().kind == consistency_kind::ssp) {
        ASSERT_GE(low, c + (workers - 1) * (c > lag ? c - lag : 0))
            << "all others to c-s-1, own";
      }
      lead_max = std::max<std::uint64_t>(lead_max, workers * c > low ? workers * c - low : 0);
      s.push(*table, g[c % 2]);
      ASSERT_TRUE(s.clock().ok());
    }
    ASSERT_TRUE(s.pull_final(*table, w).wait().ok());
    EXPECT_EQ(w, floats(100, static_cast<float>(workers * clocks)));
    EXPECT_TRUE(s.finish().ok());
  });
  const auto status = cluster.status().jobs[0];
  EXPECT_EQ(status.state, policies::job_state::done) << status.failure;
  if (GetParam().kind == consistency_kind::bsp) {
    EXPECT_EQ(status.staleness_max, 0u);
  }
  if (GetParam().kind == consistency_kind::ssp) {
    EXPECT_LE(status.staleness_max, GetParam().staleness);
    if (GetParam().staleness > 0) {
      EXPECT_GT(lead_max, 0u) << "the fast did run ahead";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(policies, exact_sums,
                         testing::Values(policies::consistency_spec{consistency_kind::bsp, 0},
                                         policies::consistency_spec{consistency_kind::ssp, 0},
                                         policies::consistency_spec{consistency_kind::ssp, 3},
                                         policies::consistency_spec{consistency_kind::async,
                                                                    0}));

TEST_F(session_test, async_waits_for_nobody) {
  local_cluster cluster(small_cluster(1, 2, {consistency_kind::async, 0}), links());
  auto idle = cluster.join("job", 1);
  ASSERT_TRUE(idle);
  auto busy = cluster.join("job", 0);
  ASSERT_TRUE(busy);
  const auto t = open(*busy, 8);
  floats w(8), g(8, 1.0F);
  for (int c = 0; c < 50; ++c) {
    ASSERT_TRUE(busy->pull(t, w).wait().ok());
    ASSERT_TRUE(busy->push(t, g).wait().ok());
    ASSERT_TRUE(busy->clock().ok());
  }
  ASSERT_TRUE(busy->pull(t, w).wait().ok());
  EXPECT_EQ(w, floats(8, -12.5F)) << "50 steps of 0.5 * 1/2";
  EXPECT_TRUE(idle->finish().ok());
  EXPECT_TRUE(busy->finish().ok());
}

TEST_F(session_test, a_worker_that_skips_a_table_holds_nobody_up) {
  local_cluster cluster(small_cluster(2, 2, {consistency_kind::bsp, 0}), links());
  cluster.run_workers("job", [&](session& s) {
    const auto t = open(s, 64);
    floats w(64), g(64, 1.0F);
    for (int c = 0; c < 6; ++c) {
      if (s.info().rank == 0) s.push(t, g).then([](const runtime::status&) {});
      ASSERT_TRUE(s.clock().ok());
      if (c == 5) {
        ASSERT_TRUE(s.pull(t, w).wait().ok());
      }
    }
    EXPECT_EQ(w, floats(64, -1.5F)) << "6 steps of 0.5 * (1 + 0) / 2";
    EXPECT_TRUE(s.finish().ok());
  });
}

TEST_F(session_test, callbacks_run_once_with_the_outcome) {
  local_cluster cluster(small_cluster(1, 1, {consistency_kind::bsp, 0}), links());
  cluster.run_workers("job", [&](session& s) {
    const auto t = open(s, 4);
    floats w(4);
    std::atomic<int> calls{0};
    auto pull = s.pull(t, w);
    pull.then([&](const runtime::status& outcome) { calls += outcome.ok() ? 1 : 100; });
    EXPECT_TRUE(pull.wait().ok());
    EXPECT_TRUE(s.finish().ok());
    EXPECT_EQ(calls, 1);
    pull.then([&](const runtime::status&) { ++calls; });
    EXPECT_EQ(calls, 2) << "ready already: at once";
  });
}

}  // namespace
}  // namespace tidegate::tests
