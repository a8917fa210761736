// Parts of tables of rows, the batches of their steps, and what they answer, for tests.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/parts/row_part.hpp"
#include "tests/runtime/batches/batch_memory.hpp"

namespace tidegate::runtime {

inline constexpr std::uint32_t dim = 5;
inline constexpr std::uint64_t ids_below = 400;

// The batches of a step, of some workers.
struct step_batches {
  step_batches(std::uint64_t seed, std::size_t workers, std::size_t rows,
               std::uint64_t bound = ids_below) {
    for (std::size_t rank = 0; rank < workers; ++rank) {
      const random_push push(seed * 31 + rank, rows, bound, dim);
      batch_writer writer;
      writer.begin(push.ids, 0, 1);
      auto& memory = memories.emplace_back(row_batch_bytes(writer.rows_of(0), dim));
      writer.write(0, push.gradients, dim, memory.bytes());
      inputs.push_back(
          {static_cast<std::uint32_t>(rank), *read_row_batch(memory.bytes(), dim)});
    }
  }
  std::deque<batch_memory> memories;
  std::vector<batch_merger::input> inputs;
};

// Options of a part whose rows come and go so, and of which two versions before are kept.
inline row_part_options options_of(const row_lifetime& lifetime) {
  row_part_options options;
  options.rows.name = "user";
  options.rows.capacity = (lifetime.rows > 0 ? lifetime.rows : 10'000) + lifetime_block;
  options.rows.dim = dim;
  options.rows.optimizer.kind = optimizer_kind::adam;
  options.rows.optimizer.learning_rate = 0.1F;
  options.lifetime = lifetime;
  options.keeps = 2;
  return options;
}

inline row_part::step step_of(std::uint64_t clock, std::uint32_t from, std::uint32_t to,
                              bool keeps_sum = false) {
  return {.options = {.clock = clock, .scale = 0.5F},
          .from = from,
          .to = to,
          .keeps_sum = keeps_sum};
}

// The values of all ids below ids_below.
inline std::vector<float> gathered(const row_part& part, std::uint32_t version_buffer) {
  std::vector<std::uint64_t> ids(ids_below);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
  const row_request request{.kind = row_request_kind::gather, .ids = ids};
  cache_lines room;
  const auto into = room.resize(part.answer_bytes(request));
  EXPECT_EQ(part.answer(version_buffer, request, into), into.size());
  const auto* values = reinterpret_cast<const float*>(room.bytes().data());
  return {values, values + ids.size() * dim};
}

// All rows that there are, in pages.
inline std::map<std::uint64_t, std::vector<float>> scanned(const row_part& part,
                                                           std::uint32_t version_buffer,
                                                           std::uint32_t page) {
  std::map<std::uint64_t, std::vector<float>> rows;
  row_request request{.kind = row_request_kind::scan, .ids = {}, .rows_max = page, .after = {}};
  while (true) {
    cache_lines room;
    const auto into = room.resize(part.answer_bytes(request));
    const auto bytes = part.answer(version_buffer, request, into);
    const auto batch = read_row_batch(room.bytes().first(bytes), dim);
    EXPECT_TRUE(batch);
    for (std::size_t i = 0; i < batch->ids.size(); ++i) {
      const auto row = batch->row(i);
      EXPECT_TRUE(rows.emplace(batch->ids[i], std::vector(row.begin(), row.end())).second);
    }
    if (batch->ids.size() < page) return rows;
    request.after = batch->ids.back();
  }
}

struct version {
  std::uint32_t name = 0;
  std::vector<float> values;
  std::map<std::uint64_t, std::vector<float>> rows;
};

inline void expect_versions(const row_part& part, const std::deque<version>& versions) {
  for (const auto& kept : versions) {
    EXPECT_EQ(gathered(part, kept.name), kept.values);
    EXPECT_EQ(scanned(part, kept.name, 7), kept.rows);
  }
}

}  // namespace tidegate::runtime
