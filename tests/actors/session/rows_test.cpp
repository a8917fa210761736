// Tables of rows by id, against a real cluster in this process.
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "tests/actors/session/session_fixture.hpp"

namespace tidegate::tests {
namespace {

using ids_t = std::vector<std::uint64_t>;

class session_row_table : public session_test {
 protected:
  using program = std::function<void(session&, const tidegate::row_table&)>;

  // One worker; rows of 2, all 3 at first.
  void run(const program& body, std::uint64_t capacity = 1000) {
    local_cluster cluster(small_cluster(2, 1, {consistency_kind::bsp, 0}), links());
    cluster.run_workers("job", [&](session& s) {
      row_table_options options;
      options.init_constant = 3.0F;
      options.capacity = capacity;
      options.parts = 4;
      const auto t = s.open_rows("user", 2, options);
      ASSERT_TRUE(t) << t.error().message();
      body(s, *t);
      s.finish().ok();
    });
  }
};

TEST_F(session_row_table, only_what_is_pushed_is_made) {
  run([](session& s, const auto& t) {
    const ids_t ids = {7, 5, 7};
    const floats gradients = {1, 2, 3, 4, 5, 6};
    ASSERT_TRUE(t.push(ids, gradients).wait().ok());
    ASSERT_TRUE(s.clock().ok());
    const ids_t asked = {5, 1, 7, 5, ~std::uint64_t{0}};
    floats got(10);
    ASSERT_TRUE(t.pull(asked, got).wait().ok());
    // 3 - 0.5 * (1 + 5), and so on: equal ids are summed first.
    EXPECT_EQ(got, (floats{1.5F, 1.0F, 3, 3, 0, -1, 1.5F, 1.0F, 3, 3}));
    std::map<std::uint64_t, floats> rows;
    ASSERT_TRUE(t.for_each([&](std::uint64_t id, std::span<const float> values) {
                   rows[id].assign(values.begin(), values.end());
                 }).ok());
    EXPECT_EQ(rows, (std::map<std::uint64_t, floats>{{5, {1.5F, 1.0F}}, {7, {0, -1}}}));
  });
}

// Mappings of tables of rows that this process may only read: those of workers.
std::size_t rows_mapped_to_read() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);)
    if (line.find("r--s") != std::string::npos && line.find("/memfd:rows") != std::string::npos)
      ++count;
  return count;
}

TEST_F(session_row_table, are_read_where_shards_of_this_host_keep_them) {
  run([](session& s, const auto& t) {
    ids_t ids(400);
    std::iota(ids.begin(), ids.end(), 0);
    floats got(ids.size() * 2);
    for (std::uint64_t clock = 0; clock < 3; ++clock) {
      ASSERT_TRUE(t.push(ids, floats(got.size(), 2.0F)).wait().ok());
      ASSERT_TRUE(s.clock().ok());
      ASSERT_TRUE(t.pull(ids, got).wait().ok());
      EXPECT_EQ(got, floats(got.size(), 3 - static_cast<float>(clock + 1)));
      EXPECT_EQ(rows_mapped_to_read(), 4U) << "one for each part";
    }
  });
  EXPECT_EQ(rows_mapped_to_read(), 0U);
}

TEST_F(session_row_table, of_nothing_are_nothing) {
  run([](session& s, const auto& t) {
    EXPECT_TRUE(t.pull(ids_t{}, std::span<float>()).wait().ok());
    EXPECT_TRUE(t.push(ids_t{}, floats{}).wait().ok());
    ASSERT_TRUE(s.clock().ok());
    int rows = 0;
    EXPECT_TRUE(t.for_each([&](auto, auto) { ++rows; }).ok());
    EXPECT_EQ(rows, 0);
  });
}

TEST_F(session_row_table, many_rows_are_read_in_pages) {
  run(
      [](session& s, const auto& t) {
        constexpr std::uint64_t rows = 300'000;
        ids_t ids(rows);
        for (std::uint64_t i = 0; i < rows; ++i) ids[i] = (rows - i) * 3;
        ASSERT_TRUE(t.push(ids, floats(rows * 2, 1.0F)).wait().ok());
        ASSERT_TRUE(s.clock().ok());
        std::uint64_t last = 0;
        std::uint64_t count = 0;
        ASSERT_TRUE(t.for_each([&](std::uint64_t id, std::span<const float> values) {
                       EXPECT_EQ(id, last + 3);
                       EXPECT_EQ(values[1], 2.5F);
                       last = id;
                       ++count;
                     }).ok());
        EXPECT_EQ(count, rows);
      },
      1'000'000);
}

TEST_F(session_row_table, that_are_wrong_are_refused_and_change_nothing) {
  run([this](session& s, const auto& t) {
    const ids_t ids = {1, 2};
    floats values(5, 1.0F);
    expect(t.push(ids, values).wait(), errc::invalid_argument,
           "push of table 'user' with 2 ids and 5 values; its rows have 2");
    expect(t.pull(ids, values).wait(), errc::invalid_argument, "its rows have 2");
    values = {1, 2, std::numeric_limits<float>::quiet_NaN(), 4};
    expect(t.push(ids, values).wait(), errc::not_finite, "row '2' has NaN at element 0");
    expect(s.open_rows("user", 3).error(), errc::invalid_argument,
           "exists with rows of 2 values, not 3");
    expect(s.open_table("user", {4}).error(), errc::invalid_argument, "has rows by id");
    expect(s.open_rows("none", 0).error(), errc::invalid_argument, "rows of dim 0");
    row_table_options wrong;
    wrong.optimizer.name = "momentum";
    expect(s.open_rows("other", 2, wrong).error(), errc::invalid_argument,
           "optimizer 'momentum' does not step rows; allowed: sgd, adagrad, adam, "
           "proximal, rowwise_adagrad, ftrl, group_adagrad");
    wrong = {};
    wrong.capacity = wrong.evict_rows = 100;
    expect(s.open_rows("other", 2, wrong).error(), errc::invalid_argument,
           "options of table 'other': capacity and evict.rows are both given");
    wrong = {};
    wrong.evict_rows = 100;
    wrong.evict_by = "age";
    expect(s.open_rows("other", 2, wrong).error(), errc::invalid_argument,
           "evict.by 'age'; allowed: lru, lfu, l2");
    wrong = {};
    wrong.admit_count = 0;
    expect(s.open_rows("other", 2, wrong).error(), errc::invalid_argument,
           "admit.count 0; allowed: 1 to 65535");
    for (const std::uint64_t bytes : {0U, 4U * 65'535U}) {
      wrong = {};
      wrong.parts = 4;
      wrong.memory = bytes;
      expect(s.open_rows("other", 2, wrong).error(), errc::invalid_argument,
             "options of table 'other': memory of " + std::to_string(bytes) +
                 " bytes in 4 parts; allowed: 64KiB for each part, 262144 bytes, to 16TiB");
    }
    table_options dense;
    dense.optimizer.name = "ftrl";
    expect(s.open_table("other", {4}, dense).error(), errc::invalid_argument,
           "optimizer 'ftrl' steps tables of rows alone; allowed: sgd, momentum");
    EXPECT_TRUE(t.pull(ids, std::span(values).first(4)).wait().ok());
    EXPECT_EQ(values, floats(4, 3.0F));
  });
}

TEST_F(session_row_table, that_are_full_say_so) {
  run(
      [](session&, const auto& t) {
        ids_t ids(2000);
        for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
        expect(t.push(ids, floats(4000, 1.0F)).wait(), errc::refused,
               "no room for more rows; give the table a larger capacity, or what does not fit "
               "its memory a larger disk");
      },
      100);
}

// Nobody reads a part that lacks a step, whoever waits for what.
TEST_F(session_row_table, that_are_full_are_not_read) {
  run(
      [](session& s, const auto& t) {
        ids_t ids(2000);
        for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
        const auto pushed = t.push(ids, floats(4000, 1.0F));
        const auto ended = s.clock();
        floats out(4000);
        const auto pulled = ended.ok() ? t.pull(ids, out).wait() : ended;
        EXPECT_FALSE(pulled.ok());
        EXPECT_NE(pulled.message().find("no room for more rows"), std::string::npos)
            << pulled.to_string();
        EXPECT_FALSE(pushed.wait().ok());
      },
      100);
}

TEST_F(session_row_table, a_second_push_in_a_clock_spoils_nothing) {
  run([](session& s, const auto& t) {
    const ids_t first = {1, 2};
    const ids_t second = {1, 3, 4, 5, 6, 7, 8};
    const auto pushed = t.push(first, floats(4, 2.0F));
    expect(t.push(second, floats(14, 9.0F)).wait(), errc::out_of_order, "out of order");
    ASSERT_TRUE(pushed.wait().ok());
    ASSERT_TRUE(s.clock().ok());
    const ids_t asked = {1, 2, 3};
    floats got(6);
    ASSERT_TRUE(t.pull(asked, got).wait().ok());
    EXPECT_EQ(got, (floats{2, 2, 2, 2, 3, 3}));
  });
}

TEST_F(session_row_table, are_stepped_by_the_optimizer_of_the_job_or_refused) {
  auto spec = small_cluster(1, 1, {consistency_kind::bsp, 0});
  spec.jobs[0].optimizer = policies::default_optimizer(policies::optimizer_kind::momentum);
  local_cluster cluster(spec, links());
  cluster.run_workers("job", [](session& s) {
    expect(s.open_rows("user", 2).error(), errc::invalid_argument,
           "optimizer 'momentum' does not step rows");
    EXPECT_TRUE(s.finish().ok());
  });
}

}  // namespace
}  // namespace tidegate::tests
