// Tables of rows by id, against a real cluster in this process.
#include <atomic>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/rng.hpp"
#include "runtime/base/sha256.hpp"
#include "runtime/optimizers/registry.hpp"
#include "runtime/rows/initial_values.hpp"
#include "tests/actors/session/session_fixture.hpp"
#include "tests/support/workload.hpp"

namespace tidegate::tests {
namespace {

using ids_t = std::vector<std::uint64_t>;

constexpr std::uint32_t dim = 6;
constexpr std::uint32_t workers = 3;
constexpr std::uint64_t clocks = 8;
constexpr float init = 0.05F;

// What a rank pulls and pushes in a clock: some ids more than once, some of them huge.
ids_t ids_of(std::uint32_t rank, std::uint64_t clock) {
  runtime::rng random(rank * 1000 + clock);
  ids_t ids(random.below(60));
  for (auto& id : ids) {
    id = random.below(90);
    if (id % 7 == 0) id = ~id;
  }
  return ids;
}

floats gradients_of(const ids_t& ids, const floats& values, std::uint32_t rank,
                    std::uint64_t clock) {
  floats gradients(values.size());
  const auto key = workload_key(1, rank, clock, 0);
  for (std::size_t i = 0; i < gradients.size(); ++i)
    gradients[i] = workload_gradient(
        key, static_cast<std::size_t>(ids[i / dim] * dim + i % dim), values[i]);
  return gradients;
}

struct setting {
  std::uint32_t shards = 2;
  std::uint32_t parts = 5;
  std::string optimizer = "sgd";
  policies::consistency_spec consistency = {consistency_kind::bsp, 0};
};

row_table_options options_of(const setting& options) {
  row_table_options wanted;
  wanted.optimizer.name = options.optimizer;
  wanted.optimizer.learning_rate = 0.1F;
  wanted.init_uniform = init;
  wanted.parts = options.parts;
  return wanted;
}

runtime::status work(session& s, const setting& options) {
  const auto t = s.open_rows("user", dim, options_of(options));
  if (!t) return t.error();
  while (s.now() < clocks) {
    const auto ids = ids_of(s.info().rank, s.now());
    floats values(ids.size() * dim);
    if (auto pulled = t->pull(ids, values).wait(); !pulled.ok()) return pulled;
    const auto gradients = gradients_of(ids, values, s.info().rank, s.now());
    // A clock in which this worker pushes nothing at all.
    if (s.now() % 5 != 3)
      if (auto pushed = t->push(ids, gradients).wait(); !pushed.ok()) return pushed;
    if (auto ended = s.clock(); !ended.ok()) return ended;
  }
  return s.finish();
}

std::string hash_of(const setting& options, runtime::loopback_options network_options = {}) {
  runtime::loopback_network network(network_options);
  local_cluster cluster(small_cluster(options.shards, workers, options.consistency), [&] {
    return runtime::expected<std::unique_ptr<runtime::link>>(network.make_link());
  });
  std::atomic<int> finished{0};
  cluster.run_workers("job", [&](session& s) {
    const auto done = work(s, options);
    EXPECT_TRUE(done.ok()) << done.to_string();
    finished += done.ok() ? 1 : 0;
  });
  EXPECT_EQ(finished, static_cast<int>(workers));
  return cluster.status().jobs[0].parameters_sha256;
}

struct row {
  floats w = floats(dim), a = floats(dim), b = floats(dim);
};

// The whole job again, row by row.
template <class Optimizer>
std::string reference_hash(const setting& options) {
  auto optimizer = policies::default_optimizer(
      *runtime::find_optimizer(std::string_view(options.optimizer)));
  optimizer.learning_rate = 0.1F;
  const auto seed = small_cluster(1, 1, options.consistency).jobs[0].seed;
  const runtime::initial_values first{
      .kind = runtime::initial_kind::uniform,
      .scale = init,
      .key = runtime::initial_key(runtime::stream_key(seed, "user"), "user")};
  std::map<std::uint64_t, row> table;
  const auto value_of = [&](std::uint64_t id) {
    if (table.contains(id)) return table[id].w;
    floats w(dim);
    runtime::write_initial(first, id, w);
    return w;
  };
  for (std::uint64_t clock = 0; clock < clocks; ++clock) {
    std::map<std::uint64_t, std::vector<floats>> pushed;  // by id, of ranks in their order
    for (std::uint32_t rank = 0; rank < workers && clock % 5 != 3; ++rank) {
      const auto ids = ids_of(rank, clock);
      floats values;
      for (const auto id : ids) {
        const auto w = value_of(id);
        values.insert(values.end(), w.begin(), w.end());
      }
      const auto gradients = gradients_of(ids, values, rank, clock);
      std::map<std::uint64_t, floats> sums;
      for (std::size_t i = 0; i < ids.size(); ++i) {
        auto& sum = sums[ids[i]];
        const bool is_first = sum.empty();
        sum.resize(dim);
        for (std::uint32_t c = 0; c < dim; ++c)
          sum[c] = is_first ? gradients[i * dim + c] : sum[c] + gradients[i * dim + c];
      }
      for (auto& [id, sum] : sums) pushed[id].push_back(std::move(sum));
    }
    for (const auto& [id, gradients] : pushed) {
      if (!table.contains(id)) table[id].w = value_of(id);
      auto& r = table[id];
      auto powers = runtime::powers_after(optimizer, clock);
      const auto rates =
          runtime::next_rates(optimizer, Optimizer::traits().corrects_bias, powers);
      for (std::uint32_t c = 0; c < dim; ++c) {
        float sum = gradients[0][c];
        for (std::size_t i = 1; i < gradients.size(); ++i) sum += gradients[i][c];
        Optimizer::step(optimizer, rates, (1.0F / workers) * sum, r.w[c], r.a[c], r.b[c]);
      }
    }
  }
  runtime::sha256 hash;
  for (const auto& [id, r] : table) {
    hash.update(std::as_bytes(std::span(&id, 1)));
    hash.update(std::as_bytes(std::span(r.w)));
  }
  return hash.finish();
}

TEST(session_rows, equal_a_sequential_reference) {
  setting options;
  EXPECT_EQ(hash_of(options), reference_hash<runtime::optimizers::sgd>(options));
  options.optimizer = "adagrad";
  EXPECT_EQ(hash_of(options), reference_hash<runtime::optimizers::adagrad>(options));
  options.optimizer = "adam";
  EXPECT_EQ(hash_of(options), reference_hash<runtime::optimizers::adam>(options));
}

TEST(session_rows, have_the_same_bits_on_any_shards_and_parts) {
  setting options;
  options.optimizer = "adam";
  std::set<std::string> hashes;
  for (const std::uint32_t shards : {1U, 2U, 4U})
    for (const std::uint32_t parts : {1U, 4U, 64U}) {
      if (parts < shards) continue;
      options.shards = shards;
      options.parts = parts;
      hashes.insert(hash_of(options, {shards + parts, 3}));
    }
  EXPECT_EQ(hashes.size(), 1U);
}

TEST(session_rows, go_through_under_every_policy) {
  for (const auto policy : {consistency_kind::ssp, consistency_kind::async}) {
    setting options;
    options.consistency = {policy, 1};
    EXPECT_EQ(hash_of(options, {5, 3}).size(), 64U);
  }
}

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
           "optimizer 'momentum' does not step rows; allowed: sgd, adagrad, adam");
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
               "no room for more rows; give the table a larger capacity");
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
