// A part whose rows lie in a file is as one whose rows lie in memory.
#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/parts/leased_rows.hpp"
#include "runtime/parts/row_part.hpp"
#include "tests/runtime/parts/part_batches.hpp"
#include "tests/support/disk_folder.hpp"

namespace tidegate::runtime {
namespace {

// A row takes 128 bytes with its state, and 400 take 50 KiB.
constexpr std::uint64_t memory_bytes = 12U << 10U;

class a_part_in_a_file : public testing::Test {
 protected:
  void SetUp() override {
    const auto folder = tests::disk_folder();
    if (!folder) GTEST_SKIP() << "no folder on a disk";
    auto memory =
        row_memory::create({.table = "user", .folder = *folder, .bytes = memory_bytes});
    ASSERT_TRUE(memory) << memory.error().message();
    memory_ = *memory;
  }
  row_part part_of(const row_lifetime& lifetime) {
    auto options = options_of(lifetime);
    options.rows.memory = memory_;
    auto part = row_part::create(options);
    EXPECT_TRUE(part) << part.error().message();
    return std::move(*part);
  }

  std::shared_ptr<row_memory> memory_;
};

TEST_F(a_part_in_a_file, has_the_rows_and_versions_of_one_in_memory) {
  using order = eviction_order;
  for (const row_lifetime& lifetime : {row_lifetime{},
                                       {.rows = 300, .by = order::l2},
                                       {.admit_count = 2, .candidates = 90, .unseen = 6},
                                       {.rows = 250, .by = order::lru}}) {
    auto part = part_of(lifetime);
    auto twin = *row_part::create(options_of(lifetime));
    for (std::uint32_t clock = 0; clock < 40; ++clock) {
      const step_batches batches(clock, 1 + clock % 3, 150);
      const auto step = step_of(clock, clock % 4, (clock + 1) % 4, clock % 2 == 0);
      ASSERT_TRUE(part.apply(step, batches.inputs).ok());
      ASSERT_TRUE(twin.apply(step, batches.inputs).ok());
      const auto now = step.to;
      ASSERT_EQ(gathered(part, now), gathered(twin, now)) << clock;
      ASSERT_EQ(gathered(part, step.from), gathered(twin, step.from)) << clock;
      if (clock % 8 != 7) continue;
      ASSERT_EQ(scanned(part, step.from, 64), scanned(twin, step.from, 64));
      ASSERT_EQ(part.image(now, {}), twin.image(now, {}));
      ASSERT_LE(memory_->so_far().bytes, memory_bytes);
    }
    EXPECT_GT(part.rows(), 100U);
  }
  EXPECT_GT(memory_->so_far().bytes_dropped, 20 * memory_bytes);
}

TEST_F(a_part_in_a_file, goes_on_from_the_image_of_another) {
  auto twin = *row_part::create(options_of({}));
  for (std::uint32_t clock = 0; clock < 5; ++clock)
    ASSERT_TRUE(twin.apply(step_of(clock, 0, 0), step_batches(clock, 2, 300).inputs).ok());
  auto part = part_of({});
  ASSERT_TRUE(part.apply(step_of(0, 0, 0), step_batches(9, 1, 200).inputs).ok());
  ASSERT_TRUE(part.restore(twin.image(0, {}), 0, {}).ok());
  EXPECT_LE(memory_->so_far().bytes, memory_bytes);
  EXPECT_EQ(part.image(0, {}), twin.image(0, {}));
  const step_batches more(7, 3, 200);
  ASSERT_TRUE(part.apply(step_of(5, 0, 0), more.inputs).ok());
  ASSERT_TRUE(twin.apply(step_of(5, 0, 0), more.inputs).ok());
  EXPECT_EQ(part.image(0, {}), twin.image(0, {}));
}

// In the order in which they lie, each with its place by id.
TEST_F(a_part_in_a_file, shows_each_row_once_and_by_its_place) {
  auto part = part_of({});
  for (std::uint32_t clock = 0; clock < 4; ++clock)
    ASSERT_TRUE(part.apply(step_of(clock, 0, 0), step_batches(clock, 1, 300).inputs).ok());
  const auto image = part.image(0, {});
  std::vector<std::uint64_t> ids(part.rows());
  std::vector<const float*> visited;
  part.visit_rows([&](std::size_t i, const row_part::row_values& row) {
    ASSERT_EQ(ids[i], 0U);
    ids[i] = row.id;
    visited.push_back(row.values.data());
    EXPECT_EQ(
        std::memcmp(row.values.data(), image.values.data() + i * dim, dim * sizeof(float)), 0);
  });
  EXPECT_EQ(ids, image.ids);
  EXPECT_TRUE(std::is_sorted(visited.begin(), visited.end()));
}

TEST_F(a_part_in_a_file, is_read_in_place_under_a_lease) {
  auto part = part_of({});
  const step_batches batches(1, 2, 300);
  ASSERT_TRUE(part.apply(step_of(0, 0, 0), batches.inputs).ok());
  std::vector<std::uint64_t> ids(ids_below);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
  const auto expected = gathered(part, 0);
  const row_request request{.kind = row_request_kind::gather, .ids = ids, .may_lease = true};
  cache_lines room;
  const auto read_before = memory_->so_far().bytes_read;
  const auto bytes = part.answer(0, request, room.resize(part.answer_bytes(request)));
  ASSERT_EQ(bytes, row_lease_bytes);
  EXPECT_GT(memory_->so_far().bytes_read, read_before) << "rows are there when they are read";
  const auto lease = decode_lease(room.bytes().first(bytes));
  ASSERT_TRUE(lease);
  leased_rows reader;
  reader.release_pages();  // of none
  ASSERT_TRUE(reader.open(*lease, dim).ok());
  batch_writer places;
  places.begin(ids, 0, 1);
  std::vector<const float*> found(ids.size());
  std::vector<float> out(ids.size() * dim);
  reader.find(ids, places, 0, found, out);
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (found[i] != nullptr) std::copy_n(found[i], dim, out.data() + i * dim);
  EXPECT_TRUE(reader.still_holds());
  EXPECT_EQ(out, expected);
  reader.release_pages();
  ASSERT_TRUE(part.apply(step_of(1, 0, 1), batches.inputs).ok());
  EXPECT_FALSE(reader.still_holds());
  EXPECT_LE(memory_->so_far().bytes, memory_bytes);
}

}  // namespace
}  // namespace tidegate::runtime
