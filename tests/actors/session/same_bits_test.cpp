// Promise 3: the bits of a BSP job do not depend on shards, chunk size, transport, order or
// timing.
#include <atomic>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "actors/environment/own_link.hpp"
#include "runtime/transport/loopback.hpp"
#include "tests/support/local_cluster.hpp"
#include "tests/support/workload.hpp"

namespace tidegate::tests {
namespace {

using policies::consistency_kind;

struct setting {
  std::uint32_t shards = 1;
  std::uint64_t chunk_bytes = 256;
  policies::optimizer_kind optimizer = policies::optimizer_kind::sgd;
  workload_options work;
  bool windows = true;
};

std::string hash_of(const setting& options, const actors::link_factory& make_link) {
  auto spec = small_cluster(options.shards, 5, {consistency_kind::bsp, 0}, options.chunk_bytes);
  spec.jobs[0].optimizer.kind = options.optimizer;
  spec.jobs[0].optimizer.learning_rate = 0.1F;
  local_cluster cluster(spec, make_link, options.windows);
  std::atomic<int> finished{0};
  cluster.run_workers("job", [&](tidegate::session& session) {
    const auto done = run_workload(session, options.work);
    EXPECT_TRUE(done.ok()) << done.to_string();
    finished += done.ok() ? 1 : 0;
  });
  EXPECT_EQ(finished, 5);
  const auto status = cluster.status();
  EXPECT_EQ(status.jobs[0].state, policies::job_state::done) << status.jobs[0].failure;
  EXPECT_EQ(status.jobs[0].staleness_max, 0u);
  return status.jobs[0].parameters_sha256;
}

std::string loopback_hash(const setting& settings, runtime::loopback_options options = {}) {
  runtime::loopback_network network(options);
  return hash_of(settings, [&] {
    return runtime::expected<std::unique_ptr<runtime::link>>(network.make_link());
  });
}

TEST(same_bits, shards_chunks_and_optimizers) {
  for (auto optimizer : {policies::optimizer_kind::sgd, policies::optimizer_kind::momentum,
                         policies::optimizer_kind::adam}) {
    std::set<std::string> hashes;
    for (std::uint32_t shards : {1u, 2u, 3u})
      for (std::uint64_t chunk_bytes : {64u, 1024u}) {
        setting options;
        options.shards = shards;
        options.chunk_bytes = chunk_bytes;
        options.optimizer = optimizer;
        hashes.insert(loopback_hash(options));
      }
    ASSERT_EQ(hashes.size(), 1u);
    EXPECT_EQ(hashes.begin()->size(), 64u);
  }
}

TEST(same_bits, ten_repetitions_with_random_delays_and_reordering) {
  setting plain;
  const auto reference = loopback_hash(plain);
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    setting options;
    options.shards = 2;
    options.work.pause_us_max = 2000;
    options.work.pause_seed = seed;
    EXPECT_EQ(loopback_hash(options, {seed, 2}), reference) << "seed " << seed;
  }
}

// In place or sent, from and into whose memory: the bits are the same.
TEST(same_bits, windows_and_frames_and_every_way_to_use_them) {
  setting options;
  options.shards = 2;
  options.chunk_bytes = 4096;  // pages: chunks of two shards are mapped side by side
  options.work.shapes = {{90, 100}, {5}, {2048}};
  options.windows = false;
  const auto reference = loopback_hash(options);
  for (const bool windows : {false, true})
    for (const auto way : {workload_way::spans, workload_way::in_place, workload_way::exchange})
      for (const std::uint64_t chunk_bytes : {320u, 4096u}) {
        options.windows = windows;
        options.work.way = way;
        options.chunk_bytes = chunk_bytes;
        EXPECT_EQ(loopback_hash(options, {7, 3}), reference)
            << "windows " << windows << " way " << static_cast<int>(way) << " chunks of "
            << chunk_bytes;
      }
}

TEST(same_bits, links_of_processes_equal_loopback) {
  // Which they are is the environment's choice: CTest runs this with rings, and with UCX.
  setting options;
  options.shards = 2;
  options.chunk_bytes = 128 * 1024;
  options.work.shapes = {{300, 300}, {10}};  // chunks large enough for rendezvous
  const auto reference = loopback_hash(options);
  for (const bool windows : {false, true})
    for (const auto way : {workload_way::spans, workload_way::exchange}) {
      options.windows = windows;
      options.work.way = way;
      EXPECT_EQ(hash_of(options, actors::make_own_link), reference)
          << "windows " << windows << " way " << static_cast<int>(way);
    }
}

}  // namespace
}  // namespace tidegate::tests
