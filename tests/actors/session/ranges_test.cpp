// Pushes and pulls of ranges, against a real cluster in this process.
#include <atomic>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/rng.hpp"
#include "runtime/base/sha256.hpp"
#include "runtime/optimizers/registry.hpp"
#include "tests/actors/session/session_fixture.hpp"
#include "tests/support/workload.hpp"

namespace tidegate::tests {
namespace {

using ranges = std::vector<tidegate::element_range>;

struct setting {
  std::uint32_t shards = 2;
  std::uint64_t chunk_bytes = 128;
  policies::optimizer_kind optimizer = policies::optimizer_kind::sgd;
  bool windows = true;
  policies::consistency_spec consistency = {consistency_kind::bsp, 0};
  workload_options work;
};

constexpr std::uint32_t workers = 3;

policies::cluster_spec spec_of(const setting& options) {
  auto spec = small_cluster(options.shards, workers, options.consistency, options.chunk_bytes);
  spec.jobs[0].optimizer = policies::default_optimizer(options.optimizer);
  spec.jobs[0].optimizer.learning_rate = 0.1F;
  spec.jobs[0].optimizer.lazy = true;
  return spec;
}

std::string hash_of(const setting& options, runtime::loopback_options network_options = {}) {
  runtime::loopback_network network(network_options);
  local_cluster cluster(
      spec_of(options),
      [&] { return runtime::expected<std::unique_ptr<runtime::link>>(network.make_link()); },
      options.windows);
  std::atomic<int> finished{0};
  cluster.run_workers("job", [&](session& s) {
    const auto done = run_workload(s, options.work);
    EXPECT_TRUE(done.ok()) << done.to_string();
    finished += done.ok() ? 1 : 0;
  });
  EXPECT_EQ(finished, static_cast<int>(workers));
  return cluster.status().jobs[0].parameters_sha256;
}

// The whole job again, element by element.
template <class Optimizer>
std::string reference_hash(const setting& options) {
  const auto spec = spec_of(options);
  const auto& job = spec.jobs[0];
  runtime::sha256 hash;
  for (std::size_t t = 0; t < options.work.shapes.size(); ++t) {
    std::uint64_t n = 1;
    for (auto d : options.work.shapes[t]) n *= d;
    floats w(n), a(n), b(n);
    const auto key = runtime::stream_key(job.seed, "table-" + std::to_string(t));
    for (std::uint64_t i = 0; i < n; ++i) w[i] = runtime::uniform_signed(key, i);
    for (std::uint64_t c = 0; c < options.work.clocks; ++c) {
      std::vector<std::vector<bool>> pushes(workers, std::vector<bool>(n));
      for (std::uint32_t r = 0; r < workers; ++r)
        for (const auto& range : workload_ranges(job.seed, r, c, t, n))
          for (auto i = range.first; i < range.last; ++i) pushes[r][i] = true;
      auto powers = runtime::powers_after(job.optimizer, c);
      const auto rates =
          runtime::next_rates(job.optimizer, Optimizer::traits().corrects_bias, powers);
      for (std::uint64_t i = 0; i < n; ++i) {
        // The canonical tree of three ranks, without those that are not there.
        float sum = 0;
        bool any = false;
        for (std::uint32_t r = 0; r < workers; ++r) {
          if (!pushes[r][i]) continue;
          const float g = workload_gradient(workload_key(job.seed, r, c, t), i, w[i]);
          sum = any ? sum + g : g;
          any = true;
        }
        if (any)
          Optimizer::step(job.optimizer, rates, (1.0F / workers) * sum, w[i], a[i], b[i]);
      }
    }
    hash.update(std::as_bytes(std::span(w)));
  }
  return hash.finish();
}

TEST(session_ranges, equal_a_sequential_reference) {
  setting options;
  for (const auto way : {workload_way::packed_ranges, workload_way::ranges}) {
    options.work.way = way;
    options.optimizer = policies::optimizer_kind::sgd;
    EXPECT_EQ(hash_of(options), reference_hash<runtime::optimizers::sgd>(options));
    options.optimizer = policies::optimizer_kind::momentum;
    EXPECT_EQ(hash_of(options), reference_hash<runtime::optimizers::momentum>(options));
    options.optimizer = policies::optimizer_kind::adam;
    EXPECT_EQ(hash_of(options), reference_hash<runtime::optimizers::adam>(options));
  }
}

TEST(session_ranges, have_the_same_bits_on_any_shards_and_chunks_and_ways) {
  setting options;
  options.optimizer = policies::optimizer_kind::adamw;
  std::set<std::string> hashes;
  for (const auto way : {workload_way::packed_ranges, workload_way::ranges})
    for (const bool windows : {false, true})
      for (const std::uint32_t shards : {1U, 3U})
        for (const std::uint64_t chunk_bytes : {64U, 1024U, 4096U}) {
          options.work.way = way;
          options.windows = windows;
          options.shards = shards;
          options.chunk_bytes = chunk_bytes;
          hashes.insert(hash_of(options, {chunk_bytes + shards, 3}));
        }
  EXPECT_EQ(hashes.size(), 1U);
}

// Under ssp and async there is no reference: the job goes through.
TEST(session_ranges, go_through_under_every_policy) {
  for (const auto policy : {consistency_kind::ssp, consistency_kind::async}) {
    setting options;
    options.consistency = {policy, 1};
    for (const auto way : {workload_way::packed_ranges, workload_way::ranges}) {
      options.work.way = way;
      EXPECT_EQ(hash_of(options, {5, 3}).size(), 64U);
    }
  }
}

class session_range : public session_test {
 protected:
  // One worker, one table of forty elements in chunks of 16, all 3 at first.
  void run(const std::function<void(session&, const table&)>& program, bool lazy = true,
           bool windows = true) {
    auto spec = small_cluster(2, 1, {consistency_kind::bsp, 0}, 64);
    spec.jobs[0].optimizer.lazy = lazy;
    local_cluster cluster(spec, links(), windows);
    cluster.run_workers("job", [&](session& s) {
      const auto t = open(s, 40, 3.0F);
      program(s, t);
      EXPECT_TRUE(s.finish().ok());
    });
    EXPECT_EQ(cluster.status().jobs[0].state, policies::job_state::done);
  }
};

TEST_F(session_range, only_what_is_pushed_makes_a_step) {
  run([](session& s, const table& t) {
    const ranges of = {{2, 4}, {15, 17}};
    const floats g = {2.0F, 4.0F, 6.0F, 8.0F};
    ASSERT_TRUE(s.push(t, of, g).wait().ok());
    ASSERT_TRUE(s.clock().ok());
    floats all(40);
    ASSERT_TRUE(s.pull(t, all).wait().ok());
    floats expected(40, 3.0F);
    expected[2] = 2.0F;  // 3 - 0.5 * 2
    expected[3] = 1.0F;
    expected[15] = 0.0F;
    expected[16] = -1.0F;
    EXPECT_EQ(all, expected);
    // As packed values, and in place: any ranges, whatever was pushed.
    floats some(5);
    const ranges others = {{1, 3}, {14, 17}};
    ASSERT_TRUE(s.pull(t, others, some).wait().ok());
    EXPECT_EQ(some, (floats{3.0F, 2.0F, 3.0F, 0.0F, -1.0F}));
    ASSERT_TRUE(s.pull(t, others).wait().ok());
    const auto in_place = s.parameters(t);
    ASSERT_EQ(in_place.size(), 40U);
    EXPECT_EQ(in_place[2], 2.0F);
    EXPECT_EQ(in_place[16], -1.0F);
  });
}

TEST_F(session_range, of_nothing_are_a_clock_without_a_step) {
  run([](session& s, const table& t) {
    ASSERT_TRUE(s.push(t, ranges{}).wait().ok());
    ASSERT_TRUE(s.clock().ok());
    ASSERT_TRUE(s.pull(t, ranges{}).wait().ok());
    EXPECT_TRUE(s.parameters(t).empty());
    floats all(40);
    ASSERT_TRUE(s.pull(t, all).wait().ok());
    EXPECT_EQ(all, floats(40, 3.0F));
  });
}

TEST_F(session_range, that_are_wrong_are_refused_and_change_nothing) {
  run([](session& s, const table& t) {
    floats values(6, 1.0F);
    expect(s.push(t, ranges{{0, 5}, {4, 6}}, values).wait(), errc::invalid_argument,
           "push of ranges of table 't': range 1, [4, 6), begins before the end of 5");
    expect(s.pull(t, ranges{{0, 41}}).wait(), errc::invalid_argument,
           "pull of ranges of table 't': range 0, [0, 41), ends beyond the table's 40");
    expect(s.pull(t, ranges{{3, 3}}).wait(), errc::invalid_argument, "has no elements");
    expect(s.push(t, ranges{{0, 5}}, values).wait(), errc::invalid_argument,
           "with 6 values; the ranges have 5 elements");
    expect(s.push({77, 9}, ranges{{0, 5}}).wait(), errc::not_found, "did not open");
    expect(s.push(t, ranges{{1, 4}, {10, 12}}, s.gradient(t).subspan(3, 5)).wait(),
           errc::invalid_argument, "the values lie where gradient() is");
    values[4] = std::numeric_limits<float>::quiet_NaN();
    expect(s.push(t, ranges{{1, 3}, {30, 34}}, values).wait(), errc::not_finite, "element 32");
    // What lies outside is not looked at: memory in place may hold anything.
    const auto gradient = s.gradient(t);
    std::fill(gradient.begin(), gradient.end(), std::numeric_limits<float>::infinity());
    gradient[20] = 2.0F;
    EXPECT_TRUE(s.push(t, ranges{{20, 21}}).wait().ok());
    values.assign(2, 9.0F);
    expect(s.push(t, ranges{{20, 22}}, values).wait(), errc::out_of_order, "out of order");
    ASSERT_TRUE(s.clock().ok());
    floats all(40), expected(40, 3.0F);
    expected[20] = 2.0F;
    ASSERT_TRUE(s.pull(t, all).wait().ok());
    EXPECT_EQ(all, expected);
  });
}

TEST_F(session_range, need_an_optimizer_that_is_lazy) {
  run(
      [](session& s, const table& t) {
        floats values(5, 1.0F);
        expect(s.push(t, ranges{{0, 5}}, values).wait(), errc::invalid_argument,
               "its optimizer steps every element in every clock; give the table "
               "optimizer.lazy: true");
        EXPECT_TRUE(s.pull(t, ranges{{0, 5}}, values).wait().ok()) << "pulls do not";
        EXPECT_EQ(values, floats(5, 3.0F));
      },
      false);
}

// A pull of chunks that lie on several shards, received over the network: what was not asked
// for is in nobody's way.
TEST_F(session_range, are_received_where_memory_is_not_shared) {
  run(
      [](session& s, const table& t) {
        for (int clock = 0; clock < 5; ++clock) {
          floats got(3);
          ASSERT_TRUE(s.pull(t, ranges{{10, 11}, {31, 33}}, got).wait().ok());
          EXPECT_EQ(got[2], 3.0F - 0.5F * static_cast<float>(clock));
          ASSERT_TRUE(s.pull(t, ranges{{32, 33}}).wait().ok());
          EXPECT_EQ(s.parameters(t)[32], got[2]);
          EXPECT_EQ(s.parameter_stretches(t).size(), 1U);
          const floats step = {1.0F};
          ASSERT_TRUE(s.push(t, ranges{{32, 33}}, step).wait().ok());
          ASSERT_TRUE(s.clock().ok());
        }
      },
      true, false);
}

}  // namespace
}  // namespace tidegate::tests
