// A shard core with a small table, and what its tests ask of effects.
#pragma once

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "policies/shard/core.hpp"

namespace tidegate::policies {

inline constexpr std::uint64_t job = 77;
inline constexpr std::uint32_t epoch = 4;

// A shard with a job that has no table.
inline shard_core make_empty_core(const consistency_spec& consistency, std::uint32_t workers) {
  shard_core core;
  core.admin().open_job(job, {.epoch = epoch,
                              .workers = workers,
                              .consistency = consistency,
                              .workers_come_back = false,
                              .members = {}});
  return core;
}

// A shard with one table of two chunks of 8 elements, chunks 0 and 2 of the table.
inline shard_core make_core(consistency_spec consistency, std::uint32_t workers) {
  auto core = make_empty_core(consistency, workers);
  const std::vector<chunk_place> places{{.chunk = 0, .shard = 0, .first = 0, .elements = 8},
                                        {.chunk = 2, .shard = 0, .first = 16, .elements = 8}};
  core.admin().open_table(job, 5, places);
  for (std::uint32_t rank = 0; rank < workers; ++rank)
    EXPECT_EQ(core.admin().admit_worker(job, rank, 1), reply_code::ok);
  return core;
}

inline frame_tag tag(std::uint32_t rank, std::uint64_t clock, std::uint32_t chunk = 0) {
  return {.job = job,
          .epoch = epoch,
          .incarnation = 1,
          .rank = rank,
          .table = 5,
          .chunk = chunk,
          .clock = clock,
          .request = clock + 1};  // one pull per clock
}

template <class T>
std::vector<T> all(const shard_effects& effects) {
  std::vector<T> found;
  for (const auto& effect : effects.list)
    if (const auto* entry = std::get_if<T>(&effect)) found.push_back(*entry);
  return found;
}
using apply = shard_effects::apply;
using ack = shard_effects::acknowledge;
using reply = shard_effects::reply;
using release = shard_effects::release;

}  // namespace tidegate::policies
