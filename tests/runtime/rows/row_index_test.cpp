#include "runtime/rows/row_index.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "tests/runtime/rows/zeroed.hpp"
#include "tests/support/allocations.hpp"

namespace tidegate::runtime {
namespace {

using ids_t = std::vector<std::uint64_t>;

// An index with its memory.
class indexed {
 public:
  explicit indexed(std::uint64_t capacity, std::uint64_t seed = 1)
      : layout_(index_layout_for(capacity)),
        memory_(layout_.bytes),
        index_(memory_.data(), layout_, seed) {}

  const index_view& view() const { return index_.view(); }
  std::byte* memory() { return memory_.data(); }
  const index_layout& layout() const { return layout_; }

  std::vector<row_number> find(const ids_t& ids) const {
    std::vector<row_number> found(ids.size(), 77);
    view().find(ids, found);
    return found;
  }
  expected<std::size_t> add(const ids_t& ids) {
    rows.assign(ids.size(), 77);
    added.assign(ids.size(), 77);
    return index_.find_or_add(ids, rows, added);
  }
  void take_back(const ids_t& ids) { index_.take_back(ids, added); }
  std::vector<row_number> erase(const ids_t& ids) {
    std::vector<row_number> freed(ids.size(), 77);
    index_.erase(ids, freed);
    return freed;
  }

  std::vector<row_number> rows;  // of the last call of add()
  std::vector<std::uint8_t> added;

 private:
  index_layout layout_;
  tests::zeroed memory_;
  row_index index_;
};

// What an index promises, as the standard library would do it.
class model {
 public:
  row_number find(std::uint64_t id) const {
    const auto found = rows_.find(id);
    return found == rows_.end() ? no_row : found->second;
  }
  row_number add(std::uint64_t id) {
    if (find(id) != no_row) return find(id);
    row_number row = next_;
    if (freed_.empty())
      ++next_;
    else {
      row = freed_.back();
      freed_.pop_back();
    }
    return rows_[id] = row;
  }
  row_number erase(std::uint64_t id) {
    const auto row = find(id);
    if (row == no_row) return row;
    rows_.erase(id);
    freed_.push_back(row);
    return row;
  }
  std::size_t size() const { return rows_.size(); }

 private:
  std::unordered_map<std::uint64_t, row_number> rows_;
  std::vector<row_number> freed_;
  row_number next_ = 0;
};

ids_t draw(rng& random, std::size_t count, std::uint64_t universe) {
  ids_t ids(count);
  for (auto& id : ids) id = mix64(random.below(universe)) * (random.below(16) == 0 ? 0 : 1);
  return ids;
}

TEST(row_index, does_what_a_map_does_over_random_calls) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    for (const std::uint64_t universe : {50U, 5'000U, 100'000U}) {
      indexed index(100'000, seed);
      model expected;
      rng random(seed);
      for (int call = 0; call < 400; ++call) {
        const auto ids = draw(random, random.below(700), universe);
        const auto kind = random.below(3);
        if (kind == 0) {
          const auto rows = index.find(ids);
          for (std::size_t i = 0; i < ids.size(); ++i)
            ASSERT_EQ(rows[i], expected.find(ids[i]));
        } else if (kind == 1) {
          const auto size = expected.size();
          const auto count = index.add(ids);
          ASSERT_TRUE(count);
          for (std::size_t i = 0; i < ids.size(); ++i) {
            ASSERT_EQ(index.added[i] == 1, expected.find(ids[i]) == no_row) << "call " << call;
            ASSERT_EQ(index.rows[i], expected.add(ids[i])) << "call " << call;
          }
          ASSERT_EQ(*count, expected.size() - size);
        } else {
          const auto rows = index.erase(ids);
          for (std::size_t i = 0; i < ids.size(); ++i)
            ASSERT_EQ(rows[i], expected.erase(ids[i])) << "call " << call;
        }
        ASSERT_EQ(index.view().size(), expected.size());
      }
    }
  }
}

TEST(row_index, visits_every_id_with_its_row) {
  indexed index(50'000);
  ids_t ids(50'000);
  std::iota(ids.begin(), ids.end(), 1'000);
  ASSERT_TRUE(index.add(ids));
  std::unordered_map<std::uint64_t, row_number> seen;
  index.view().for_each([&](std::uint64_t id, row_number row) {
    EXPECT_TRUE(seen.emplace(id, row).second) << "twice: " << id;
  });
  ASSERT_EQ(seen.size(), ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(seen[ids[i]], i);
}

TEST(row_index, numbers_come_in_the_order_of_appearance_and_the_last_freed_first) {
  indexed index(100);
  ASSERT_EQ(index.add({7, 9, 7, 0, ~0ULL}).value(), 4U);
  EXPECT_EQ(index.rows, (std::vector<row_number>{0, 1, 0, 2, 3}));
  EXPECT_EQ(index.added, (std::vector<std::uint8_t>{1, 1, 0, 1, 1}));
  EXPECT_EQ(index.erase({9, 5, 0, 9}), (std::vector<row_number>{1, no_row, 2, no_row}));
  ASSERT_EQ(index.add({20, 21, 22}).value(), 3U);
  EXPECT_EQ(index.rows, (std::vector<row_number>{2, 1, 4}));
}

TEST(row_index, numbers_do_not_follow_from_the_key_of_the_hash) {
  indexed a(20'000, 1), b(30'000, 2);
  rng random(5);
  for (int call = 0; call < 50; ++call) {
    const auto ids = draw(random, 500, 3'000);
    ASSERT_TRUE(a.add(ids));
    ASSERT_TRUE(b.add(ids));
    ASSERT_EQ(a.rows, b.rows);
    const auto fewer = draw(random, 200, 3'000);
    ASSERT_EQ(a.erase(fewer), b.erase(fewer));
  }
}

TEST(row_index, zero_and_the_largest_id_are_ids_like_any) {
  indexed index(10);
  EXPECT_EQ(index.find({0, ~0ULL}), (std::vector<row_number>{no_row, no_row}));
  ASSERT_TRUE(index.add({~0ULL, 0}));
  EXPECT_EQ(index.find({0, ~0ULL, 1}), (std::vector<row_number>{1, 0, no_row}));
  EXPECT_EQ(index.erase({0}), (std::vector<row_number>{1}));
  EXPECT_EQ(index.find({0, ~0ULL}), (std::vector<row_number>{no_row, 0}));
}

TEST(row_index, a_batch_may_be_empty) {
  indexed index(1);
  EXPECT_EQ(index.add({}).value(), 0U);
  EXPECT_TRUE(index.find({}).empty());
  EXPECT_TRUE(index.erase({}).empty());
}

TEST(row_index, takes_ten_million_ids_in_a_batch) {
  constexpr std::size_t count = 10'000'000;
  indexed index(count);
  ids_t ids(count);
  for (std::size_t i = 0; i < count; ++i) ids[i] = i * 0x9e37'79b9'7f4a'7c15ULL;
  ASSERT_EQ(index.add(ids).value(), count);
  const auto rows = index.find(ids);
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(rows[i], i);
  EXPECT_LE(index.view().buckets_used(), index.layout().buckets_max());
  EXPECT_LE(index.view().longest_probe(), rows::probe_lines_max);
}

TEST(row_index, a_full_index_says_so_and_has_changed_nothing) {
  indexed index(1'000);
  ids_t ids(999);
  std::iota(ids.begin(), ids.end(), 0);
  ASSERT_TRUE(index.add(ids));
  index.erase({5, 500});
  const auto full = index.add({3, 2'000, 2'001, 3, 2'002, 2'003, 4});
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code(), errc::over_limit);
  EXPECT_NE(full.error().message().find("997 of 1000"), std::string::npos);
  EXPECT_EQ(index.view().size(), 997U);
  EXPECT_EQ(index.find({3, 2'000, 2'001, 2'002, 2'003, 4}),
            (std::vector<row_number>{3, no_row, no_row, no_row, no_row, 4}));
  ASSERT_EQ(index.add({2'003, 2'002, 3, 2'001}).value(), 3U);
  EXPECT_EQ(index.rows, (std::vector<row_number>{500, 5, 3, 999})) << "as if it had not been";
}

// Erases and adds for ever: as many other ids as there are, many times over.
TEST(row_index, probes_stay_short_however_often_ids_come_and_go) {
  constexpr std::uint64_t live = 40'000;
  indexed index(live);
  ids_t ids(live);
  std::iota(ids.begin(), ids.end(), 0);
  ASSERT_TRUE(index.add(ids));
  std::uint64_t next = live;
  for (int round = 0; round < 2'000; ++round) {
    ids_t gone(1'000), fresh(1'000);
    for (std::size_t i = 0; i < gone.size(); ++i) {
      auto& id = ids[next * 7'919 % live];  // a prime, so all are visited
      gone[i] = id;
      fresh[i] = id = next++;
    }
    const auto freed = index.erase(gone);
    ASSERT_EQ(std::count(freed.begin(), freed.end(), no_row), 0);
    ASSERT_EQ(index.add(fresh).value(), fresh.size());
  }
  EXPECT_EQ(index.view().size(), live);
  EXPECT_EQ(index.view().numbers_used(), live) << "numbers are used again";
  EXPECT_LE(index.view().longest_probe(), 24U);
  EXPECT_LE(index.view().buckets_used(), index.layout().buckets_max());
  const auto rows = index.find(ids);
  EXPECT_EQ(std::count(rows.begin(), rows.end(), no_row), 0);
  index.erase(ids);
  EXPECT_EQ(index.view().size(), 0U);
  // An empty index has no trace of what it had: no slot is used and all counts are zero.
  for (std::uint32_t number = 0; number < index.view().buckets_used(); ++number) {
    for (const auto& line : index.view().bucket_at(number).lines) {
      ASSERT_EQ(line.used, 0);
      ASSERT_EQ(line.passed, 0);
    }
  }
}

TEST(row_index, what_calls_have_added_can_be_taken_back) {
  indexed index(10'000);
  ids_t first(3'000), more(4'000);
  std::iota(first.begin(), first.end(), 0);
  std::iota(more.begin(), more.end(), 2'000);
  ASSERT_TRUE(index.add(first));
  index.erase({10, 2'999, 20});
  for (int attempt = 0; attempt < 2; ++attempt) {
    ASSERT_EQ(index.add(more).value(), 3'001U);
    EXPECT_EQ(index.rows[999], 20U) << "freed last";
    EXPECT_EQ(index.rows[1'000], 2'999U);
    EXPECT_EQ(index.rows[1'001], 10U);
    EXPECT_EQ(index.rows[1'002], 3'000U);
    index.take_back(more);
    EXPECT_EQ(index.view().size(), 2'997U);
    EXPECT_EQ(index.view().numbers_used(), 3'000U);
  }
}

// mix64 backwards.
std::uint64_t unmix(std::uint64_t x) {
  x = x ^ (x >> 31) ^ (x >> 62);
  x *= 0x319642b2d24d8ec3ULL;
  x = x ^ (x >> 27) ^ (x >> 54);
  x *= 0x96de1b173f119089ULL;
  x = x ^ (x >> 30) ^ (x >> 60);
  return x - 0x9e37'79b9'7f4a'7c15ULL;
}

TEST(row_index, ids_chosen_to_fall_into_one_place_are_refused_and_harm_nothing) {
  ASSERT_EQ(unmix(mix64(12345)), 12345U);
  indexed index(1'000'000);
  ids_t others(10'000);
  std::iota(others.begin(), others.end(), 0);
  ASSERT_TRUE(index.add(others));
  // One home, one bucket at any depth: probes of 64 lines of 5 slots hold 320 of them.
  const auto key = index.view().header().key;
  ids_t same;
  for (std::uint64_t i = 0; i < 500; ++i) same.push_back(unmix((i << 20U) + 17) ^ key);
  ASSERT_TRUE(index.add(ids_t(same.begin(), same.begin() + 320)));
  EXPECT_EQ(index.view().longest_probe(), rows::probe_lines_max);
  const auto count = index.view().size();
  const auto refused = index.add(same);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), errc::over_limit);
  EXPECT_EQ(index.view().size(), count);
  const auto rows = index.find(same);
  EXPECT_EQ(std::count(rows.begin(), rows.end(), no_row), 180);
  std::vector<row_number> expected(others.size());
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(index.find(others), expected);
  index.erase(ids_t(same.begin(), same.begin() + 320));
  EXPECT_LE(index.view().longest_probe(), 24U) << "probes are as short as before";
}

TEST(row_index, may_lie_anywhere) {
  indexed index(5'000);
  ids_t ids(5'000);
  std::iota(ids.begin(), ids.end(), 0);
  ASSERT_TRUE(index.add(ids));
  const tests::zeroed elsewhere(index.layout().bytes);
  std::memcpy(elsewhere.data(), index.memory(), index.layout().bytes);
  std::memset(index.memory(), 0xab, index.layout().bytes);
  const index_view moved(elsewhere.data(), index_layout_for(5'000));
  std::vector<row_number> rows(ids.size());
  moved.find(ids, rows);
  for (std::size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(rows[i], i);
}

// A reader may see anything while somebody writes.
TEST(row_index, looking_up_in_noise_ends_and_stays_within_the_memory) {
  const auto layout = index_layout_for(5'000);
  const tests::zeroed memory(layout.bytes);
  for (const std::uint64_t seed : {1, 2, 3}) {
    for (std::size_t i = 0; i < layout.bytes / 8; ++i) {
      const auto noise = seed == 3 ? ~0ULL : mix64(seed * 1'000'003 + i);
      std::memcpy(memory.data() + 8 * i, &noise, 8);
    }
    ids_t ids(10'000);
    std::iota(ids.begin(), ids.end(), 0);
    std::vector<row_number> rows(ids.size());
    index_view(memory.data(), layout).find(ids, rows);
    for (const auto row : rows) ASSERT_TRUE(row < 5'000 || row == no_row) << row;
  }
}

TEST(row_index, a_number_that_is_none_of_the_table_is_not_handed_on) {
  indexed index(5'000);
  ids_t ids(5'000);
  std::iota(ids.begin(), ids.end(), 0);
  ASSERT_TRUE(index.add(ids));
  auto* buckets = reinterpret_cast<rows::bucket*>(index.memory() + index.layout().buckets);
  for (std::uint32_t number = 0; number < index.view().buckets_used(); ++number)
    for (auto& line : buckets[number].lines)
      for (auto& row : line.rows) row += 4'999;
  const auto rows = index.find(ids);
  EXPECT_EQ(std::count(rows.begin(), rows.end(), no_row), 4'999);
  EXPECT_EQ(rows[0], 4'999U);
}

TEST(row_index, batches_allocate_nothing) {
  indexed index(100'000);
  ids_t ids(100'000);
  std::iota(ids.begin(), ids.end(), 0);
  std::vector<row_number> rows(ids.size());
  std::vector<std::uint8_t> added(ids.size());
  row_index again(index.memory(), index.layout(), 1);
  ASSERT_TRUE(again.find_or_add(std::span(ids).first(1), std::span(rows).first(1),
                                std::span(added).first(1)));  // the width is found once
  const auto count = tidegate::tests::allocations();
  ASSERT_TRUE(again.find_or_add(ids, rows, added));
  again.view().find(ids, rows);
  again.erase(ids, rows);
  EXPECT_EQ(tidegate::tests::allocations(), count);
}

TEST(row_index, has_a_layout_for_every_capacity) {
  for (const std::uint64_t capacity :
       {std::uint64_t{1}, std::uint64_t{2'048}, limits::part_rows_max}) {
    const auto layout = index_layout_for(capacity);
    EXPECT_EQ(layout.buckets % 4096, 0U);
    EXPECT_LE(capacity / layout.buckets_max(), rows::deepest_slots);
    EXPECT_GT(layout.bytes, layout.buckets);
  }
  EXPECT_DEATH(index_layout_for(0), "a capacity within the limit");
  EXPECT_DEATH(index_layout_for(limits::part_rows_max + 1), "a capacity within the limit");
}

}  // namespace
}  // namespace tidegate::runtime
