// Tables of rows that are larger than their memory.
#include "runtime/rows/row_memory.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "runtime/rows/row_reader.hpp"
#include "runtime/rows/row_table.hpp"
#include "tests/runtime/rows/row_kinds.hpp"
#include "tests/support/allocations.hpp"
#include "tests/support/disk_folder.hpp"

namespace tidegate::runtime {
namespace {

using ids_t = std::vector<std::uint64_t>;
using floats = std::vector<float>;

constexpr std::uint32_t dim = 24;
constexpr std::uint64_t memory_bytes = 256U << 10U;
constexpr std::uint64_t capacity = 20'000;  // 4 MB of values and state

row_table_options options_of(std::shared_ptr<row_memory> memory) {
  row_table_options options;
  options.name = "embedding";
  options.capacity = capacity;
  options.dim = dim;
  options.optimizer.kind = optimizer_kind::adagrad;
  options.initial_scale = 0.5F;
  options.memory = std::move(memory);
  return options;
}

row_table table_of(const row_table_options& options) {
  auto table = row_table::create(options);
  EXPECT_TRUE(table) << table.error().message();
  return std::move(*table);
}

std::shared_ptr<row_memory> memory_in(const std::string& folder,
                                      std::uint64_t bytes = memory_bytes) {
  auto memory = row_memory::create({.table = "embedding", .folder = folder, .bytes = bytes});
  EXPECT_TRUE(memory) << memory.error().message();
  return *memory;
}

ids_t range(std::uint64_t first, std::size_t count) {
  ids_t ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

// Distinct, in no order.
ids_t random_ids(rng& random, std::size_t count, std::uint64_t below) {
  ids_t ids(count);
  for (auto& id : ids) id = random.below(below);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  for (auto& id : ids) id = mix64(id);
  return ids;
}

floats gradients_of(const ids_t& ids, std::uint64_t seed) {
  floats gradients(ids.size() * dim);
  for (std::size_t i = 0; i < gradients.size(); ++i)
    gradients[i] = uniform_signed(seed ^ ids[i / dim], i % dim);
  return gradients;
}

// Bytes of values and states that are in memory, as the kernel says.
std::uint64_t bytes_in_memory(const row_table& table) {
  const auto view = table.view();
  const auto& layout = view.slabs().layout();
  std::vector<unsigned char> found((layout.ids - layout.values) / segment::page_bytes);
  backing_file::look(reinterpret_cast<const std::byte*>(view.slabs().all_values()), found);
  return static_cast<std::uint64_t>(std::count(found.begin(), found.end(), 1)) *
         segment::page_bytes;
}

class row_memory_test : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = tests::disk_folder();
    if (!folder_) GTEST_SKIP() << "no folder on a disk";
  }
  std::optional<std::string> folder_;
};

// Whatever is done, a table in a file is as the same table in memory, and within its bound.
TEST_F(row_memory_test, has_the_bits_of_a_table_in_memory) {
  const auto memory = memory_in(*folder_);
  auto table = table_of(options_of(memory));
  auto twin = table_of(options_of(nullptr));
  ASSERT_TRUE(table.lies_in_file());
  ASSERT_FALSE(twin.lies_in_file());
  rng random(1);
  for (std::uint64_t step = 0; step < 150; ++step) {
    const auto ids = random_ids(random, 1 + random.below(900), 18'000);
    floats before(ids.size() * dim), twin_before(before.size());
    switch (random.below(6)) {
      case 0:
        EXPECT_EQ(table.erase(ids), twin.erase(ids));
        break;
      case 1:
        table.gather(ids, before);
        twin.gather(ids, twin_before);
        break;
      case 2: {
        const auto values = gradients_of(ids, step);
        const floats states(values.size(), 0.5F);
        const std::vector<row_use> uses(ids.size(), {.clock = step, .pushes = 3});
        ASSERT_TRUE(table.put(ids, values, states, uses).ok());
        ASSERT_TRUE(twin.put(ids, values, states, uses).ok());
        break;
      }
      default: {
        const auto gradients = gradients_of(ids, step);
        std::vector<const float*> rows(ids.size());
        for (std::size_t i = 0; i < ids.size(); ++i) rows[i] = gradients.data() + i * dim;
        ASSERT_TRUE(table.update({.clock = step}, ids, rows, {.values = before}).ok());
        ASSERT_TRUE(twin.update({.clock = step}, ids, rows, {.values = twin_before}).ok());
      }
    }
    ASSERT_EQ(before, twin_before) << step;
    ASSERT_LE(bytes_in_memory(table), memory_bytes) << step;
    ASSERT_EQ(memory->so_far().bytes, bytes_in_memory(table)) << "it knows what is there";
  }
  EXPECT_EQ(table.hash(), twin.hash());
  EXPECT_GT(table.size(), 10'000U);
  EXPECT_GT(memory->so_far().bytes_dropped, 20 * memory_bytes);
  EXPECT_GT(memory->so_far().bytes_read, 20 * memory_bytes);
}

TEST_F(row_memory_test, steps_rows_with_every_optimizer_and_in_segments) {
  for (const auto kind : row_optimizers()) {
    auto options = options_of(nullptr);
    options.optimizer.kind = kind;
    auto twin = table_of(options);
    options.segments = {{.columns = 3, .optimizer = options.optimizer, .initial_scale = 0.5F},
                        {.columns = dim - 3,
                         .optimizer = {.kind = optimizer_kind::adam},
                         .initial_scale = 0.5F}};
    auto twin_in_segments = table_of(options);
    options.memory = memory_in(*folder_, 64U << 10U);
    auto in_segments = table_of(options);
    options.segments = {};
    auto table = table_of(options);
    rng random(static_cast<std::uint64_t>(kind));
    for (std::uint64_t step = 0; step < 10; ++step) {
      const auto ids = random_ids(random, 1'000, 2'000);
      const auto gradients = gradients_of(ids, step);
      for (auto* each : {&table, &twin, &in_segments, &twin_in_segments})
        ASSERT_TRUE(each->update({.clock = step}, ids, gradients).ok());
    }
    EXPECT_EQ(table.hash(), twin.hash());
    EXPECT_EQ(in_segments.hash(), twin_in_segments.hash());
  }
}

// Twice over, as a page that stayed by chance would be found by then.
TEST_F(row_memory_test, keeps_rows_that_are_used_again) {
  const auto memory = memory_in(*folder_);
  auto table = table_of(options_of(memory));
  const auto all = range(0, 16'000);
  ASSERT_TRUE(table.update({}, all, floats(all.size() * dim, 1.0F)).ok());
  const auto hot = range(4'000, 300);
  floats out(hot.size() * dim);
  rng random(2);
  std::uint64_t read = 0, rounds = 0;
  for (int round = 0; round < 200; ++round) {
    auto cold = range(5'000 + random.below(10'000), 60);
    floats of_cold(cold.size() * dim);
    table.gather(cold, of_cold);
    const auto before = memory->so_far().bytes_read;
    table.gather(hot, out);
    if (round < 20) continue;
    read += memory->so_far().bytes_read - before;
    ++rounds;
  }
  EXPECT_EQ(read, 0U) << "in " << rounds << " rounds";
  EXPECT_GT(memory->so_far().bytes_read, 0U);
}

// A checkpoint goes over all rows, and what is used again is there after it.
TEST_F(row_memory_test, keeps_rows_that_are_used_again_while_all_are_scanned) {
  const auto memory = memory_in(*folder_);
  auto table = table_of(options_of(memory));
  const auto all = range(0, 16'000);
  ASSERT_TRUE(table.update({}, all, floats(all.size() * dim, 1.0F)).ok());
  const auto hot = range(4'000, 300);
  floats out(hot.size() * dim);
  for (int warm = 0; warm < 5; ++warm) table.gather(hot, out);
  std::vector<row_number> numbers(all.size());
  std::iota(numbers.begin(), numbers.end(), row_number{0});
  double sum = 0;
  const auto view = table.view();
  table.scan_rows(numbers, [&](std::size_t first, std::size_t count) {
    for (auto i = first; i < first + count; ++i) sum += *view.slabs().values(numbers[i]);
    EXPECT_LE(bytes_in_memory(table), memory_bytes);
  });
  EXPECT_NE(sum, 0);
  const auto before = memory->so_far().bytes_read;
  table.gather(hot, out);
  EXPECT_EQ(memory->so_far().bytes_read, before);
}

TEST_F(row_memory_test, is_shared_by_the_parts_of_a_table) {
  const auto memory = memory_in(*folder_);
  std::vector<row_table> parts;
  for (int part = 0; part < 4; ++part) parts.push_back(table_of(options_of(memory)));
  for (std::uint64_t step = 0; step < 20; ++step)
    for (auto& part : parts) {
      const auto ids = range(step * 100, 300);
      ASSERT_TRUE(part.update({.clock = step}, ids, gradients_of(ids, step)).ok());
      std::uint64_t bytes = 0;
      for (const auto& each : parts) bytes += bytes_in_memory(each);
      ASSERT_LE(bytes, memory_bytes);
    }
  for (auto& part : parts) EXPECT_EQ(part.hash(), parts.front().hash());
  const auto reserved = memory->so_far().bytes_reserved;
  EXPECT_GE(reserved, 4U * 2'200 * 2 * 32 * sizeof(float));
  parts.pop_back();
  EXPECT_EQ(memory->so_far().bytes_reserved, reserved / 4 * 3);
  parts.clear();
  EXPECT_EQ(memory->so_far().bytes, 0U);
  EXPECT_EQ(memory->so_far().bytes_reserved, 0U);
}

TEST_F(row_memory_test, steps_that_are_warm_allocate_nothing) {
  auto table = table_of(options_of(memory_in(*folder_)));
  const auto ids = range(0, 8'000);
  const auto gradients = gradients_of(ids, 1);
  floats out(ids.size() * dim);
  for (int warm = 0; warm < 3; ++warm) {
    ASSERT_TRUE(table.update({}, ids, gradients).ok());
    table.gather(ids, out);
  }
  const auto before = tests::allocations();
  ASSERT_TRUE(table.update({}, ids, gradients).ok());
  table.gather(ids, out);
  EXPECT_LE(tests::allocations() - before, 64U) << "blocks of a queue, and nothing for rows";
}

TEST_F(row_memory_test, is_read_in_place_by_another_process) {
  auto table = table_of(options_of(memory_in(*folder_)));
  const auto all = range(0, 16'000);
  ASSERT_TRUE(table.update({}, all, floats(all.size() * dim, 1.0F)).ok());
  floats expected(all.size() * dim);
  table.gather(all, expected);
  const auto place = table.place();
  const auto hash = table.hash();
  const auto child = fork();
  if (child == 0) {
    const auto reader = row_reader::open(place);
    floats out(all.size() * dim);
    if (!reader) _exit(1);
    reader->view().gather(all, out);
    if (out != expected) _exit(2);
    reader->release_pages();
    // And what is read once more is still the same.
    _exit(hash_of_rows(reader->view()) == hash ? 0 : 3);
  }
  int result = 0;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  EXPECT_EQ(WEXITSTATUS(result), 0);
}

// A page that a reader has mapped cannot be dropped.
TEST_F(row_memory_test, holds_its_bound_beside_readers_that_release_their_pages) {
  auto table = table_of(options_of(memory_in(*folder_)));
  const auto all = range(0, 16'000);
  ASSERT_TRUE(table.update({}, all, floats(all.size() * dim, 1.0F)).ok());
  const auto reader = row_reader::open(table.place());
  ASSERT_TRUE(reader) << reader.error().message();
  const auto some = range(3'000, 12'000);
  floats out(some.size() * dim);
  reader->view().gather(some, out);
  const auto few = range(0, 10);
  for (int step = 0; step < 100; ++step)
    ASSERT_TRUE(table.update({}, few, floats(few.size() * dim, 1.0F)).ok());
  EXPECT_GT(bytes_in_memory(table), 4 * memory_bytes) << "the reader holds what it has read";
  reader->release_pages();
  for (int step = 0; step < 100; ++step)
    ASSERT_TRUE(table.update({}, few, floats(few.size() * dim, 1.0F)).ok());
  EXPECT_LE(bytes_in_memory(table), memory_bytes);
}

TEST_F(row_memory_test, brings_rows_into_memory_that_somebody_is_to_read) {
  const auto memory = memory_in(*folder_);
  auto table = table_of(options_of(memory));
  const auto all = range(0, 16'000);
  ASSERT_TRUE(table.update({}, all, floats(all.size() * dim, 1.0F)).ok());
  const auto before = memory->so_far().bytes_read;
  table.expect_reads(range(100, 10));
  const auto read = memory->so_far().bytes_read - before;
  EXPECT_GT(read, 0U);
  EXPECT_LE(read, 2 * segment::page_bytes);
  table.expect_reads(range(100, 10));
  EXPECT_EQ(memory->so_far().bytes_read, before + read) << "once";
  table.expect_reads(range(1U << 20U, 10));
  EXPECT_EQ(memory->so_far().bytes_read, before + read) << "rows that do not exist lie nowhere";
}

TEST_F(row_memory_test, in_a_folder_of_memory_is_refused) {
  const auto refused = row_memory::create({.table = "user", .folder = "/nowhere", .bytes = 1});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("table user"), std::string::npos);
  EXPECT_NE(refused.error().message().find("/nowhere"), std::string::npos);
  EXPECT_NE(refused.error().message().find("cluster.rows_dir"), std::string::npos);
}

// A batch that finds no room on the disk changes nothing, and what there was stays right.
TEST(row_memory_disk, that_is_full_fails_the_step_that_needs_more) {
  const tests::small_disk disk(16U << 20U);
  if (disk.path().empty()) GTEST_SKIP() << "no disk can be mounted";
  auto options = options_of(memory_in(disk.path()));
  options.capacity = 1'000'000;
  auto table = table_of(options);
  options.memory = nullptr;
  auto twin = table_of(options);
  status full;
  std::uint64_t rows = 0;
  while (full.ok()) {
    const auto ids = range(rows, 5'000);
    full = table.update({.clock = rows}, ids, gradients_of(ids, rows));
    if (!full.ok()) break;
    ASSERT_TRUE(twin.update({.clock = rows}, ids, gradients_of(ids, rows)).ok());
    rows += ids.size();
    ASSERT_LT(rows, options.capacity);
  }
  EXPECT_EQ(full.code(), errc::no_space);
  for (const auto* part :
       {"table embedding", disk.path().c_str(), "No space left", "cluster.rows_dir"})
    EXPECT_NE(full.message().find(part), std::string::npos) << full.message();
  EXPECT_GT(rows, 20'000U);
  EXPECT_EQ(table.size(), rows) << "the batch that failed has left nothing";
  EXPECT_EQ(table.hash(), twin.hash());
  // Rows that are there are stepped and read on the full disk.
  const auto old = range(0, rows);
  ASSERT_TRUE(table.update({.clock = rows}, old, gradients_of(old, 9)).ok());
  ASSERT_TRUE(twin.update({.clock = rows}, old, gradients_of(old, 9)).ok());
  EXPECT_EQ(table.hash(), twin.hash());
  // And those that go make room.
  ASSERT_EQ(table.erase(range(0, 5'000)), 5'000U);
  const auto others = range(1U << 30U, 5'000);
  EXPECT_TRUE(table.update({}, others, gradients_of(others, 3)).ok());
}

TEST(row_memory_disk, that_loses_what_is_written_fails_the_step) {
  const tests::small_disk disk(64U << 20U, 8U << 20U);
  if (disk.path().empty()) GTEST_SKIP() << "no disk can be mounted";
  auto options = options_of(memory_in(disk.path()));
  options.capacity = 1'000'000;
  auto table = table_of(options);
  status lost;
  for (std::uint64_t rows = 0; lost.ok(); rows += 5'000) {
    const auto ids = range(rows, 5'000);
    lost = table.update({.clock = rows}, ids, gradients_of(ids, rows));
    ASSERT_LT(rows, options.capacity);
  }
  EXPECT_EQ(lost.code(), errc::io_error) << lost.message();
  for (const auto* part : {"table embedding", disk.path().c_str(), "cannot be written"})
    EXPECT_NE(lost.message().find(part), std::string::npos) << lost.message();
  const auto ids = range(0, 10);
  EXPECT_EQ(table.update({}, ids, gradients_of(ids, 1)).code(), errc::io_error)
      << "it is of no use from then on";
}

}  // namespace
}  // namespace tidegate::runtime
