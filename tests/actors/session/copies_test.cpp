// Promise 6: on one host no byte of a gradient or a parameter is copied by us, and what is
// copied otherwise is counted.
#include <numeric>
#include <string>

#include <gtest/gtest.h>

#include "actors/environment/own_link.hpp"
#include "runtime/transport/loopback.hpp"
#include "tests/support/local_cluster.hpp"
#include "tests/support/workload.hpp"

namespace tidegate::tests {
namespace {

using policies::consistency_kind;
using policies::consistency_spec;

constexpr std::uint32_t workers = 3;
constexpr std::uint64_t clocks = 12;
constexpr std::uint64_t chunk_bytes = 4096;
constexpr std::uint64_t elements = 10 * 1024 + 7;

// Clocks with calls in place; the sum of what was pulled, so that it is read.
runtime::status run_in_place(tidegate::session& session) {
  auto table = session.open_table("w", {elements});
  if (!table) return table.error();
  double read = 0;
  for (std::uint64_t clock = 0; clock < clocks; ++clock) {
    if (auto pulled = session.pull(*table).wait(); !pulled.ok()) return pulled;
    std::uint64_t found = 0;
    for (const auto& part : session.parameter_stretches(*table)) {
      EXPECT_EQ(part.first, found);
      found += part.values.size();
      read = std::accumulate(part.values.begin(), part.values.end(), read);
    }
    EXPECT_EQ(found, elements);
    const auto gradient = session.gradient(*table);
    std::fill(gradient.begin(), gradient.end(), 1.0F);
    const auto pushed = session.push(*table);
    if (auto next = session.clock(); !next.ok()) return next;
  }
  EXPECT_NE(read, 0);
  return session.finish();
}

// The same with memory of the program's own.
runtime::status run_with_spans(tidegate::session& session) {
  auto table = session.open_table("w", {elements});
  if (!table) return table.error();
  std::vector<float> parameters(elements);
  const std::vector<float> gradient(elements, 1.0F);
  for (std::uint64_t clock = 0; clock < clocks; ++clock) {
    if (auto pulled = session.pull(*table, parameters).wait(); !pulled.ok()) return pulled;
    const auto pushed = session.push(*table, gradient);
    if (auto next = session.clock(); !next.ok()) return next;
  }
  return session.finish();
}

template <class Program>
std::uint64_t copied(const consistency_spec& consistency, const actors::link_factory& make_link,
                     bool windows, const Program& program) {
  local_cluster cluster(small_cluster(2, workers, consistency, chunk_bytes), make_link,
                        windows);
  cluster.run_workers("job", [&](tidegate::session& session) {
    const auto done = program(session);
    EXPECT_TRUE(done.ok()) << done.to_string();
  });
  const auto status = cluster.status();
  EXPECT_EQ(status.jobs[0].state, policies::job_state::done) << status.jobs[0].failure;
  return status.jobs[0].payload_bytes_copied;
}

class copies : public testing::TestWithParam<consistency_spec> {};

TEST_P(copies, none_in_place_on_one_host) {
  EXPECT_EQ(copied(GetParam(), actors::make_own_link, true, run_in_place), 0U);
}

TEST_P(copies, with_memory_of_the_program_once_each_way) {
  // And rank 0 reads all once more for the hash: in place.
  EXPECT_EQ(copied(GetParam(), actors::make_own_link, true, run_with_spans),
            workers * clocks * 2 * elements * sizeof(float));
}

TEST_P(copies, of_frames_are_counted_on_both_sides) {
  runtime::loopback_network network;
  const auto make_link = [&] {
    return runtime::expected<std::unique_ptr<runtime::link>>(network.make_link());
  };
  // The loopback copies every payload: each push, each pull, and the last one for the hash.
  EXPECT_EQ(copied(GetParam(), make_link, false, run_with_spans),
            (workers * clocks * 2 + 1) * elements * sizeof(float));
}

INSTANTIATE_TEST_SUITE_P(policies, copies,
                         testing::Values(consistency_spec{consistency_kind::bsp, 0},
                                         consistency_spec{consistency_kind::ssp, 2},
                                         consistency_spec{consistency_kind::async, 0}));

}  // namespace
}  // namespace tidegate::tests
