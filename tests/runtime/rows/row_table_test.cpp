#include "runtime/rows/row_table.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "runtime/kernels/row_step.hpp"
#include "tests/runtime/rows/row_kinds.hpp"
#include "tests/support/allocations.hpp"

namespace tidegate::runtime {
namespace {

using ids_t = std::vector<std::uint64_t>;
using floats = std::vector<float>;

row_table_options options_of(optimizer_kind kind, std::uint64_t capacity, std::uint32_t dim) {
  row_table_options options;
  options.name = "embedding";
  options.capacity = capacity;
  options.dim = dim;
  options.optimizer.kind = kind;
  options.initial_scale = 0.5F;
  return options;
}

row_table table_of(const row_table_options& options) {
  auto table = row_table::create(options);
  EXPECT_TRUE(table) << table.error().message();
  return std::move(*table);
}

floats gather(const row_table& table, const ids_t& ids) {
  floats out(ids.size() * table.view().dim());
  table.gather(ids, out);
  return out;
}

floats initial_rows(const row_table& table, const ids_t& ids) {
  const std::size_t dim = table.view().dim();
  floats out(ids.size() * dim);
  for (std::size_t i = 0; i < ids.size(); ++i)
    write_initial(table.place().initial, ids[i], std::span(out).subspan(i * dim, dim));
  return out;
}

floats gradients_of(const ids_t& ids, std::size_t dim, std::uint64_t seed) {
  floats gradients(ids.size() * dim);
  for (std::size_t i = 0; i < gradients.size(); ++i)
    gradients[i] = uniform_signed(seed ^ ids[i / dim], i % dim);
  return gradients;
}

ids_t range(std::uint64_t first, std::size_t count) {
  ids_t ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

TEST(row_table, a_row_that_does_not_exist_has_its_initial_values_and_is_not_made) {
  const auto table = table_of(options_of(optimizer_kind::sgd, 100, 7));
  const ids_t ids{5, 0, ~0ULL, 5};
  EXPECT_EQ(gather(table, ids), initial_rows(table, ids));
  EXPECT_EQ(table.size(), 0U);
  EXPECT_TRUE(gather(table, {}).empty());
}

TEST(row_table, a_row_that_is_made_has_the_values_that_were_read_before) {
  auto table = table_of(options_of(optimizer_kind::adam, 2'000, 7));
  const auto ids = range(100, 1'500);
  const auto before = gather(table, ids);
  std::vector<row_number> rows(ids.size());
  EXPECT_EQ(table.find_or_create(ids, rows).value(), ids.size());
  EXPECT_EQ(table.find_or_create(ids, rows).value(), 0U);
  EXPECT_EQ(gather(table, ids), before);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ASSERT_EQ(rows[i], i);
    ASSERT_EQ(table.view().slabs().id(rows[i]), ids[i]);
  }
}

// What a table promises, a row at a time.
class model {
 public:
  explicit model(const row_table_options& options)
      : options_(options),
        initial_{.kind = options.initial,
                 .scale = options.initial_scale,
                 .key = initial_key(options.seed, options.name)} {}

  struct row {
    floats values, state;
    row_use use;
  };

  row& make(std::uint64_t id) {
    auto& found = rows_[id];
    if (found.values.empty()) {
      found.values.resize(options_.dim);
      found.state.resize(state_floats(options_.optimizer, options_.dim));
      write_initial(initial_, id, found.values);
    }
    return found;
  }
  void update(const row_step& step, std::uint64_t id, std::span<const float> gradient) {
    auto& at = make(id);
    step_row(coefficients_of(options_.optimizer, step, options_.dim), gradient, at.values,
             at.state);
    at.use = {.clock = step.clock, .pushes = at.use.pushes + 1};
  }
  void erase(std::uint64_t id) { rows_.erase(id); }
  const std::map<std::uint64_t, row>& rows() const { return rows_; }

 private:
  row_table_options options_;
  initial_values initial_;
  std::map<std::uint64_t, row> rows_;
};

ids_t draw_distinct(rng& random, std::size_t count, std::uint64_t universe) {
  ids_t ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back(mix64(random.below(universe)));
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  for (std::size_t i = ids.size(); i > 1; --i) std::swap(ids[i - 1], ids[random.below(i)]);
  return ids;
}

void expect_same(const row_table& table, const model& expected) {
  ASSERT_EQ(table.size(), expected.rows().size());
  const auto& slabs = table.view().slabs();
  for (const auto& [id, row] : expected.rows()) {
    std::array<row_number, 1> at{};
    table.view().index().find(std::array{id}, at);
    ASSERT_NE(at[0], no_row);
    ASSERT_TRUE(std::equal(row.values.begin(), row.values.end(), slabs.values(at[0])));
    ASSERT_TRUE(std::equal(row.state.begin(), row.state.end(), slabs.state(at[0])));
    ASSERT_EQ(slabs.use(at[0]).clock, row.use.clock);
    ASSERT_EQ(slabs.use(at[0]).pushes, row.use.pushes);
  }
}

TEST(row_table, does_what_rows_one_at_a_time_do) {
  for (const auto kind : row_optimizers())
    for (const std::uint32_t dim : {3U, 20U}) {
      SCOPED_TRACE(testing::Message() << optimizer_name(kind) << ", dim " << dim);
      const auto options = options_of(kind, 20'000, dim);
      auto table = table_of(options);
      model expected(options);
      rng random(17);
      for (std::uint64_t clock = 0; clock < 60; ++clock) {
        const auto ids = draw_distinct(random, random.below(900), 8'000);
        const row_step step{.clock = clock, .scale = 0.5F};
        const auto gradients = gradients_of(ids, dim, clock);
        ASSERT_TRUE(table.update(step, ids, gradients).ok());
        for (std::size_t i = 0; i < ids.size(); ++i)
          expected.update(step, ids[i], std::span(gradients).subspan(i * dim, dim));
        const auto gone = draw_distinct(random, 200, 8'000);
        std::size_t count = 0;
        for (const auto id : gone) {
          count += expected.rows().contains(id) ? 1 : 0;
          expected.erase(id);
        }
        ASSERT_EQ(table.erase(gone), count);
      }
      expect_same(table, expected);
    }
}

// Columns that have an optimizer of their own, as a linear model has beside a deep one.
row_table_options options_of_segments() {
  auto options = options_of(optimizer_kind::sgd, 5'000, 33);
  const auto segment = [](std::uint32_t columns, optimizer_kind kind, float first) {
    row_segment of;
    of.columns = columns;
    of.optimizer.kind = kind;
    of.optimizer.l1 = of.optimizer.l21 = 0.01F;
    of.initial = initial_kind::constant;
    of.initial_scale = first;
    return of;
  };
  options.segments = {segment(1, optimizer_kind::ftrl, 0.0F),
                      segment(20, optimizer_kind::adagrad, 0.25F),
                      segment(12, optimizer_kind::group_adagrad, -1.0F)};
  return options;
}

TEST(row_table, has_segments_that_are_stepped_as_tables_of_their_own) {
  const auto options = options_of_segments();
  auto table = table_of(options);
  ASSERT_EQ(table.shape().state_floats, 2 * 1 + 20 + 2 * 12U);
  std::vector<row_table> alone;
  for (const auto& segment : options.segments) {
    auto of_one = options_of(segment.optimizer.kind, 5'000, segment.columns);
    of_one.optimizer = segment.optimizer;
    of_one.initial = segment.initial;
    of_one.initial_scale = segment.initial_scale;
    alone.push_back(table_of(of_one));
  }
  rng random(3);
  for (std::uint64_t clock = 0; clock < 20; ++clock) {
    const auto ids = draw_distinct(random, 900, 3'000);
    const row_step step{.clock = clock, .scale = 0.5F};
    const auto gradients = gradients_of(ids, 33, clock);
    const auto was = gather(table, ids);
    std::vector<const float*> rows;
    for (std::size_t i = 0; i < ids.size(); ++i) rows.push_back(gradients.data() + i * 33);
    floats before(gradients.size());
    std::vector<std::uint8_t> is_new(ids.size());
    ASSERT_TRUE(table.update(step, ids, rows, {.values = before, .is_new = is_new}).ok());
    EXPECT_EQ(before, was);
    std::size_t first = 0;
    for (auto& of_one : alone) {
      const std::size_t columns = of_one.view().dim();
      floats own;
      for (std::size_t i = 0; i < ids.size(); ++i)
        own.insert(own.end(), rows[i] + first, rows[i] + first + columns);
      ASSERT_TRUE(of_one.update(step, ids, own).ok());
      first += columns;
    }
  }
  const auto& slabs = table.view().slabs();
  table.view().index().for_each([&](std::uint64_t id, row_number number) {
    std::size_t column = 0, state = 0;
    for (const auto& of_one : alone) {
      std::array<row_number, 1> at{};
      of_one.view().index().find(std::array{id}, at);
      ASSERT_NE(at[0], no_row);
      const auto& own = of_one.view().slabs();
      const auto shape = of_one.shape();
      EXPECT_TRUE(std::equal(own.values(at[0]), own.values(at[0]) + shape.dim,
                             slabs.values(number) + column));
      EXPECT_TRUE(std::equal(own.state(at[0]), own.state(at[0]) + shape.state_floats,
                             slabs.state(number) + state));
      EXPECT_EQ(slabs.use(number), own.use(at[0])) << "a step counts once";
      column += shape.dim;
      state += shape.state_floats;
    }
  });
}

TEST(row_table, has_first_values_that_do_not_depend_on_segments) {
  const auto whole = table_of(options_of(optimizer_kind::sgd, 100, 13));
  auto options = options_of(optimizer_kind::sgd, 100, 13);
  row_segment of;
  of.initial_scale = 0.5F;
  for (const std::uint32_t columns : {3U, 4U, 5U, 1U}) {
    of.columns = columns;
    options.segments.push_back(of);
  }
  const auto cut = table_of(options);
  const auto ids = range(5, 100);
  EXPECT_EQ(gather(cut, ids), gather(whole, ids));
}

TEST(row_table, refuses_segments_that_are_not_its_columns) {
  auto options = options_of_segments();
  options.dim = 34;
  EXPECT_EQ(row_table::create(options).error().code(), errc::invalid_argument);
  options = options_of_segments();
  options.segments[1].columns = 0;
  options.dim = 13;
  EXPECT_EQ(row_table::create(options).error().code(), errc::invalid_argument);
  options = options_of_segments();
  options.segments[1].optimizer.kind = optimizer_kind::momentum;
  EXPECT_EQ(row_table::create(options).error().code(), errc::invalid_argument);
  options = options_of(optimizer_kind::sgd, 10, 9);
  row_segment single;
  single.columns = 1;
  options.segments.assign(9, single);
  EXPECT_EQ(row_table::create(options).error().code(), errc::invalid_argument);
}

TEST(row_table, a_row_that_comes_again_begins_anew) {
  auto table = table_of(options_of(optimizer_kind::adagrad, 10, 4));
  const auto fresh = gather(table, {7});
  for (int time = 0; time < 2; ++time) {
    ASSERT_TRUE(table.update({.clock = 3}, ids_t{7}, floats{1, 2, 3, 4}).ok());
    EXPECT_NE(gather(table, {7}), fresh);
    EXPECT_EQ(table.view().slabs().use(0).pushes, 1U);
    EXPECT_EQ(table.view().slabs().state(0)[1], 4.0F);
    EXPECT_EQ(table.erase(ids_t{7, 8}), 1U);
    EXPECT_EQ(gather(table, {7}), fresh);
  }
}

TEST(row_table, that_is_full_says_so_and_has_lost_nothing) {
  auto table = table_of(options_of(optimizer_kind::adagrad, 10'000, 4));
  const auto ids = range(0, 10'000);
  ASSERT_TRUE(table.update({}, ids, gradients_of(ids, 4, 1)).ok());
  ASSERT_EQ(table.erase(ids_t{3, 4'000, 4}), 3U);
  const auto hash = table.hash();
  const auto more = range(5, 10'000);  // five that are new, at the end, in the last of blocks
  const auto refused = table.update({.clock = 1}, more, gradients_of(more, 4, 2));
  EXPECT_EQ(refused.code(), errc::over_limit);
  EXPECT_NE(refused.message().find("9997 of 10000"), std::string::npos) << refused.message();
  EXPECT_EQ(table.hash(), hash);
  std::vector<row_number> rows(more.size());
  EXPECT_EQ(table.find_or_create(more, rows).error().code(), errc::over_limit);
  EXPECT_EQ(table.hash(), hash);
  ASSERT_TRUE(table.find_or_create(ids_t{20'000, 20'001, 20'002}, std::span(rows).first(3)));
  EXPECT_EQ(rows[0], 4U);
  EXPECT_EQ(rows[1], 4'000U);
  EXPECT_EQ(rows[2], 3U);
}

TEST(row_table, hash_does_not_depend_on_order_or_capacity_and_on_all_else) {
  const auto ids = range(0, 5'000);
  auto a = table_of(options_of(optimizer_kind::adagrad, 5'000, 5));
  ASSERT_TRUE(a.update({.clock = 1}, ids, gradients_of(ids, 5, 9)).ok());
  auto b = table_of(options_of(optimizer_kind::adagrad, 100'000, 5));
  ids_t backwards(ids.rbegin(), ids.rend());
  const auto others = range(1'000'000, 20'000);
  ASSERT_TRUE(b.update({}, others, gradients_of(others, 5, 1)).ok());
  ASSERT_TRUE(b.update({}, ids_t{3, 4}, gradients_of({3, 4}, 5, 1)).ok());
  ASSERT_EQ(b.erase(others), others.size());
  ASSERT_EQ(b.erase(ids_t{3, 4}), 2U);
  ASSERT_TRUE(b.update({.clock = 1}, backwards, gradients_of(backwards, 5, 9)).ok());
  EXPECT_EQ(a.hash(), b.hash());
  EXPECT_EQ(a.hash().size(), 64U);
  const auto before = b.hash();
  b.erase(ids_t{0});
  EXPECT_NE(b.hash(), before) << "a row less";
  ASSERT_TRUE(b.update({.clock = 1}, ids_t{0}, gradients_of({0}, 5, 9)).ok());
  EXPECT_EQ(b.hash(), before);
  ASSERT_TRUE(b.update({.clock = 2}, ids_t{0}, floats(5, 0.0F)).ok());
  EXPECT_NE(b.hash(), before) << "its clock";
}

TEST(row_table, that_may_hold_most_takes_no_memory_before_it_has_rows) {
  auto table = row_table::create(options_of(optimizer_kind::adam, limits::part_rows_max, 64));
  ASSERT_TRUE(table) << table.error().message();
  const ids_t ids{1, 2, 3};
  ASSERT_TRUE(table->update({}, ids, gradients_of(ids, 64, 1)).ok());
  EXPECT_EQ(table->size(), 3U);
  EXPECT_NE(gather(*table, ids), initial_rows(*table, ids));
}

TEST(row_table, whose_pages_were_made_before_is_as_any) {
  auto table = table_of(options_of(optimizer_kind::adagrad, 20'000, 5));
  auto other = table_of(options_of(optimizer_kind::adagrad, 20'000, 5));
  table.prepare(10'000);
  table.prepare(~0ULL >> 8U);  // no more than there may be
  const auto ids = range(0, 20'000);
  ASSERT_TRUE(table.update({}, ids, gradients_of(ids, 5, 1)).ok());
  ASSERT_TRUE(other.update({}, ids, gradients_of(ids, 5, 1)).ok());
  EXPECT_EQ(table.hash(), other.hash());
}

TEST(row_table, makes_a_million_rows_in_a_batch) {
  auto table = table_of(options_of(optimizer_kind::rowwise_adagrad, 1'000'000, 2));
  const auto ids = range(0, 1'000'000);
  ASSERT_TRUE(table.update({}, ids, floats(2'000'000, 1.0F)).ok());
  EXPECT_EQ(table.size(), 1'000'000U);
  const auto values = gather(table, ids);
  const auto before = initial_rows(table, ids);
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_LT(values[i], before[i]);
}

TEST(row_table, allocates_nothing_for_batches_of_a_size_it_has_seen) {
  auto table = table_of(options_of(optimizer_kind::adagrad, 100'000, 8));
  const auto ids = range(0, 5'000), more = range(3'000, 5'000);
  const auto gradients = gradients_of(ids, 8, 1);
  floats out(ids.size() * 8);
  ASSERT_TRUE(table.update({}, ids, gradients).ok());
  table.gather(ids, out);
  const auto count = tidegate::tests::allocations();
  ASSERT_TRUE(table.update({}, more, gradients).ok());
  table.gather(more, out);
  table.erase(ids);
  EXPECT_EQ(tidegate::tests::allocations(), count);
}

TEST(row_table, refuses_options_out_of_range) {
  const auto code = [](const row_table_options& options) {
    const auto table = row_table::create(options);
    return table ? errc::ok : table.error().code();
  };
  auto options = options_of(optimizer_kind::sgd, 10, 4);
  EXPECT_EQ(code(options), errc::ok);
  options.initial_scale = -1;
  EXPECT_EQ(code(options), errc::invalid_argument);
  options = options_of(optimizer_kind::ftrl, 10, 4);
  options.optimizer.learning_rate = 0;
  EXPECT_EQ(code(options), errc::invalid_argument);
  EXPECT_EQ(code(options_of(optimizer_kind::sgd, 0, 4)), errc::invalid_argument);
  EXPECT_EQ(code(options_of(optimizer_kind::sgd, 10, 0)), errc::invalid_argument);
}

}  // namespace
}  // namespace tidegate::runtime
