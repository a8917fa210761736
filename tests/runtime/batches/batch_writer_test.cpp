#include "runtime/batches/batch_writer.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

#include "runtime/batches/row_parts.hpp"
#include "tests/runtime/batches/batch_memory.hpp"
#include "tests/support/allocations.hpp"

namespace tidegate::runtime {
namespace {

// All rows of all parts, and each where it belongs.
std::map<std::uint64_t, std::vector<float>> rows_of_parts(const batch_writer& writer,
                                                          const std::vector<float>& gradients,
                                                          std::uint32_t dim, std::uint64_t key,
                                                          std::uint32_t parts) {
  std::map<std::uint64_t, std::vector<float>> rows;
  std::uint64_t count = 0;
  for (std::uint32_t part = 0; part < parts; ++part) {
    auto memory = written(writer, part, gradients, dim);
    const auto batch = read_row_batch(memory.bytes(), dim);
    EXPECT_TRUE(batch) << batch.error().message();
    EXPECT_EQ(batch->ids.size(), writer.rows_of(part));
    count += batch->ids.size();
    for (std::size_t i = 0; i < batch->ids.size(); ++i) {
      EXPECT_EQ(part_of_row(batch->ids[i], key, parts), part);
      const auto row = batch->row(i);
      rows[batch->ids[i]].assign(row.begin(), row.end());
    }
  }
  EXPECT_EQ(count, writer.rows());
  EXPECT_EQ(count, rows.size()) << "no id is in two parts";
  return rows;
}

TEST(batch_writer, splits_a_push_into_parts_and_sums_what_comes_twice) {
  batch_writer writer;
  std::uint64_t seed = 0;
  for (const std::uint32_t parts : {1U, 3U, 64U, limits::row_parts_max})
    for (const std::uint32_t dim : {1U, 3U, 64U})
      for (const auto bound :
           {std::uint64_t{1}, std::uint64_t{50}, std::uint64_t{100'000}, ~std::uint64_t{0}})
        for (const std::size_t count : {0, 1, 7, 500}) {
          const random_push push(++seed, count, bound, dim);
          writer.begin(push.ids, seed, parts);
          ASSERT_EQ(rows_of_parts(writer, push.gradients, dim, seed, parts), push.rows(dim))
              << parts << " parts, dim " << dim << ", seed " << seed;
        }
}

TEST(batch_writer, takes_the_ids_of_before_into_other_parts) {
  batch_writer writer;
  const random_push push(5, 300, 1000, 3);
  for (const auto& [key, parts] : {std::pair{1U, 4U}, {1U, 4U}, {1U, 6U}, {2U, 6U}, {1U, 4U}}) {
    writer.begin(push.ids, key, parts);
    ASSERT_EQ(rows_of_parts(writer, push.gradients, 3, key, parts), push.rows(3));
  }
  auto turned = push;
  std::reverse(turned.ids.begin(), turned.ids.end());
  writer.begin(turned.ids, 1, 4);
  ASSERT_EQ(rows_of_parts(writer, turned.gradients, 3, 1, 4), turned.rows(3));
}

TEST(batch_writer, takes_every_id) {
  const std::vector<std::uint64_t> ids = {~std::uint64_t{0}, 0, 1ULL << 63, 0, 1};
  const std::vector<float> gradients = {1, 2, 3, 4, 5};
  batch_writer writer;
  writer.begin(ids, 7, 1);
  auto memory = written(writer, 0, gradients, 1);
  const auto batch = read_row_batch(memory.bytes(), 1);
  ASSERT_TRUE(batch);
  EXPECT_EQ(std::vector(batch->ids.begin(), batch->ids.end()),
            (std::vector<std::uint64_t>{0, 1, 1ULL << 63, ~std::uint64_t{0}}));
  EXPECT_EQ(std::vector(batch->values.begin(), batch->values.end()),
            (std::vector<float>{6, 5, 3, 1}));
}

// 1e8 + 1 - 1e8 is 0 or 1, by the order.
TEST(batch_writer, sums_equal_ids_in_the_order_in_which_they_come) {
  batch_writer writer;
  for (const auto& [gradients, sum] : {std::pair(std::vector<float>{1e8F, 1, -1e8F}, 0.0F),
                                       {std::vector<float>{1e8F, -1e8F, 1}, 1.0F}}) {
    const std::vector<std::uint64_t> ids(3, 42);
    writer.begin(ids, 0, 2);
    const auto part = part_of_row(42, 0, 2);
    auto memory = written(writer, part, gradients, 1);
    EXPECT_EQ(read_row_batch(memory.bytes(), 1)->values[0], sum);
  }
}

TEST(batch_writer, parts_are_about_equal) {
  std::vector<std::uint64_t> ids(64'000);
  std::iota(ids.begin(), ids.end(), std::uint64_t{0});
  batch_writer writer;
  writer.begin(ids, 3, 64);
  for (std::uint32_t part = 0; part < 64; ++part) {
    EXPECT_GT(writer.rows_of(part), 850U);
    EXPECT_LT(writer.rows_of(part), 1150U);
  }
}

TEST(batch_writer, allocates_nothing_once_warm) {
  const random_push push(1, 5000, 3000, 8);
  batch_writer writer;
  batch_memory memory(row_batch_bytes(5000, 8));
  const auto use = [&] {
    writer.begin(push.ids, 9, 16);
    for (std::uint32_t part = 0; part < 16; ++part)
      writer.write(part, push.gradients, 8,
                   memory.bytes().first(row_batch_bytes(writer.rows_of(part), 8)));
  };
  use();
  const auto before = tests::allocations();
  use();
  EXPECT_EQ(tests::allocations(), before);
}

}  // namespace
}  // namespace tidegate::runtime
