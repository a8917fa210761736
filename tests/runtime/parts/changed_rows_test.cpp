// A reader that keeps rows and asks a part for what has changed of them since.
#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "runtime/parts/row_part.hpp"
#include "tests/runtime/parts/part_batches.hpp"
#include "tests/support/allocations.hpp"

namespace tidegate::runtime {
namespace {

row_part part_with(const row_lifetime& lifetime) {
  auto part = row_part::create(options_of(lifetime));
  EXPECT_TRUE(part) << part.error().message();
  return std::move(*part);
}

// The rows of some ids, as of the last answer.
struct reader {
  explicit reader(std::uint64_t step) {
    for (std::uint64_t id = 0; id < ids_below; id += step) ids.push_back(id);
    values.resize(ids.size() * dim);
  }
  // Returns how many rows have come.
  std::size_t ask(const row_part& part, std::uint32_t version) {
    row_request request;
    request.kind = row_request_kind::changes;
    request.ids = ids;
    request.since = mark;
    const auto into = room.resize(part.answer_bytes(request));
    const auto bytes = part.answer(version, request, into);
    const auto rows = static_cast<std::uint32_t>(ids.size());
    const auto answer = read_row_changes(room.bytes().first(bytes), rows, dim);
    EXPECT_TRUE(answer) << answer.error().message();
    const auto* next = answer->values.data();
    for (std::size_t row = 0; row < ids.size(); ++row) {
      if (!answer->has(row)) continue;
      std::copy_n(next, dim, values.data() + row * dim);
      next += dim;
    }
    mark = answer->mark;
    return answer->values.size() / dim;
  }
  std::vector<float> expected(const row_part& part, std::uint32_t version) const {
    std::vector<float> out(values.size());
    part.gather(version, ids, out);
    return out;
  }

  std::vector<std::uint64_t> ids;
  std::vector<float> values;
  row_mark mark;
  cache_lines room;
};

TEST(changed_rows, are_all_that_a_reader_needs) {
  using order = eviction_order;
  for (const auto& lifetime :
       {row_lifetime{}, row_lifetime{.unseen = 4}, row_lifetime{.rows = 90, .by = order::lru},
        row_lifetime{.admit_count = 2, .candidates = 500}}) {
    auto part = part_with(lifetime);
    rng random(3);
    std::vector<reader> readers;
    for (std::uint64_t step = 1; step < 5; ++step) readers.emplace_back(step);
    std::size_t travelled = 0;
    std::size_t asked = 0;
    for (std::uint32_t step = 0; step < 200; ++step) {
      // As under ssp: steps of a clock come one after another, and some come late.
      const auto clock = std::max<std::int64_t>(0, step / 3 - std::int64_t(random.below(2)));
      const step_batches batches(step, 1, random.below(30));
      ASSERT_TRUE(
          part.apply(step_of(static_cast<std::uint64_t>(clock), step, step + 1), batches.inputs)
              .ok());
      for (auto& at : readers) {
        if (random.below(3) != 0) continue;
        travelled += at.ask(part, step + 1);
        asked += at.ids.size();
        EXPECT_EQ(at.values, at.expected(part, step + 1));
      }
    }
    EXPECT_LT(travelled, asked) << "some rows have not come again";
  }
}

TEST(changed_rows, of_a_part_that_lasts_are_those_that_were_pushed) {
  auto part = part_with({});
  reader all(1);
  EXPECT_EQ(all.ask(part, 0), ids_below) << "a reader without rows";
  EXPECT_EQ(all.ask(part, 0), 0U);
  const step_batches batches(1, 1, 20);
  ASSERT_TRUE(part.apply(step_of(0, 0, 1), batches.inputs).ok());
  EXPECT_EQ(all.ask(part, 1), batches.inputs.front().batch.ids.size());
}

TEST(changed_rows, of_versions_before_and_of_other_parts_are_all_rows) {
  auto part = part_with({});
  reader all(1);
  all.ask(part, 0);
  const step_batches batches(1, 1, 20);
  ASSERT_TRUE(part.apply(step_of(0, 0, 1), batches.inputs).ok());
  EXPECT_EQ(all.ask(part, 0), ids_below);
  EXPECT_EQ(all.values, all.expected(part, 0));
  EXPECT_EQ(all.mark, row_mark{}) << "a version before says nothing of later ones";

  all.ask(part, 1);
  // The same part elsewhere has the same clock, and may have had other steps.
  const auto image = part.image(1, {});
  ASSERT_TRUE(part.restore(image, 0, {}).ok());
  EXPECT_EQ(all.ask(part, 0), ids_below);
  EXPECT_EQ(all.ask(part, 0), batches.inputs.front().batch.ids.size()) << "of the last clock";
}

TEST(changed_rows, are_answered_without_allocation_once_warm) {
  auto part = part_with({});
  const step_batches batches(1, 1, 20);
  ASSERT_TRUE(part.apply(step_of(0, 0, 1), batches.inputs).ok());
  reader all(1);
  all.ask(part, 1);
  all.ask(part, 1);
  const auto before = tests::allocations();
  all.ask(part, 1);
  EXPECT_EQ(tests::allocations(), before);
}

}  // namespace
}  // namespace tidegate::runtime
