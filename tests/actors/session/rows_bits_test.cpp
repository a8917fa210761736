// The bits of tables of rows by id, of a real cluster in this process.
#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policies/model/row_rules.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/base/sha256.hpp"
#include "runtime/batches/row_parts.hpp"
#include "runtime/optimizers/registry.hpp"
#include "runtime/rows/initial_values.hpp"
#include "tests/actors/session/session_fixture.hpp"
#include "tests/support/disk_folder.hpp"
#include "tests/support/row_lifetimes.hpp"
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
  runtime::row_lifetime lifetime = {};                               // of the whole table
  std::vector<std::pair<std::uint32_t, std::string>> segments = {};  // columns, optimizers
  bool asks_ahead = false;  // for the rows of the next clock
  bool lies_in_file = false;

  // Without a cost `proximal` is SGD.
  std::optional<float> l1() const {
    return optimizer == "proximal" ? std::optional(0.5F) : std::nullopt;
  }
};

row_table_options options_of(const setting& options) {
  row_table_options wanted;
  wanted.optimizer.name = options.optimizer;
  wanted.optimizer.learning_rate = 0.1F;
  wanted.optimizer.l1 = options.l1();
  wanted.init_uniform = init;
  for (const auto& [columns, name] : options.segments) {
    row_segment segment;
    segment.columns = columns;
    segment.optimizer.name = name;
    segment.optimizer.learning_rate = wanted.optimizer.learning_rate;
    segment.init_uniform = init;
    wanted.segments.push_back(segment);
  }
  if (!options.segments.empty()) {
    wanted.optimizer = {};
    wanted.init_uniform.reset();
  }
  wanted.parts = options.parts;
  const auto& lifetime = options.lifetime;
  if (!lifetime.admits_at_once()) {
    wanted.admit_count = lifetime.admit_count;
    wanted.admit_candidates = lifetime.candidates;
  }
  if (options.lies_in_file) wanted.memory = options.parts * runtime::limits::part_memory_min;
  if (lifetime.unseen > 0) wanted.evict_unseen = lifetime.unseen;
  if (lifetime.rows > 0) {
    wanted.evict_rows = lifetime.rows;
    wanted.evict_by = policies::eviction_words[static_cast<std::size_t>(lifetime.by)].first;
  }
  return wanted;
}

runtime::status work(session& s, const setting& options) {
  const auto t = s.open_rows("user", dim, options_of(options));
  if (!t) return t.error();
  while (s.now() < clocks) {
    const auto ids = ids_of(s.info().rank, s.now());
    floats values(ids.size() * dim);
    if (auto pulled = t->pull(ids, values).wait(); !pulled.ok()) return pulled;
    if (options.asks_ahead) {
      const auto ahead = t->prefetch(ids_of(s.info().rank, s.now() + 1));
      // Every other time it is there before the push, and else on its way.
      if (ahead.ready() || s.now() % 2 == 0)
        if (auto asked = ahead.wait(); !asked.ok()) return asked;
    }
    const auto gradients = gradients_of(ids, values, s.info().rank, s.now());
    // A clock in which this worker pushes nothing at all.
    if (s.now() % 5 != 3)
      if (auto pushed = t->push(ids, gradients).wait(); !pushed.ok()) return pushed;
    if (auto ended = s.clock(); !ended.ok()) return ended;
  }
  return s.finish();
}

std::string hash_of(const setting& options, runtime::loopback_options network_options = {},
                    bool windows = true) {
  runtime::loopback_network network(network_options);
  auto spec = small_cluster(options.shards, workers, options.consistency);
  spec.rows_dir = disk_folder().value_or("");
  local_cluster cluster(
      spec,
      [&] { return runtime::expected<std::unique_ptr<runtime::link>>(network.make_link()); },
      windows);
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
  optimizer.l1 = options.l1().value_or(0.0F);
  const auto seed = small_cluster(1, 1, options.consistency).jobs[0].seed;
  const runtime::initial_values first{
      .kind = runtime::initial_kind::uniform,
      .scale = init,
      .key = runtime::initial_key(runtime::stream_key(seed, "user"), "user")};
  std::map<std::uint64_t, row> table;
  std::vector<row_lifetimes> lifetimes(
      options.parts, row_lifetimes(policies::part_lifetime(options.lifetime, options.parts)));
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
    auto powers = runtime::powers_after(optimizer, clock);
    const auto rates =
        runtime::next_rates(optimizer, Optimizer::traits().corrects_bias, powers);
    const auto step_row = [&](std::uint64_t id) {
      if (!table.contains(id)) table[id].w = value_of(id);
      auto& r = table[id];
      const auto& gradients = pushed.at(id);
      for (std::uint32_t c = 0; c < dim; ++c) {
        float sum = gradients[0][c];
        for (std::size_t i = 1; i < gradients.size(); ++i) sum += gradients[i][c];
        Optimizer::step(optimizer, rates, (1.0F / workers) * sum, r.w[c], r.a[c], r.b[c]);
      }
    };
    std::map<std::uint32_t, ids_t> of_parts;
    for (const auto& [id, gradients] : pushed)
      of_parts[runtime::part_of_row(id, runtime::stream_key(seed, "user"), options.parts)]
          .push_back(id);
    for (const auto& [part, ids] : of_parts)
      lifetimes[part].step(clock, ids,
                           {.stepped = step_row,
                            .erased = [&](std::uint64_t id) { table.erase(id); },
                            .squares =
                                [&](std::uint64_t id) {
                                  double sum = 0;
                                  for (const double w : table.at(id).w) sum += w * w;
                                  return sum;
                                }});
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
  options.optimizer = "proximal";
  EXPECT_EQ(hash_of(options), reference_hash<runtime::optimizers::proximal>(options));
}

TEST(session_rows, that_come_and_go_equal_a_sequential_reference) {
  using order = runtime::eviction_order;
  setting options;
  options.optimizer = "adagrad";
  const auto eternal = reference_hash<runtime::optimizers::adagrad>(options);
  for (const runtime::row_lifetime& lifetime :
       {runtime::row_lifetime{.admit_count = 2, .candidates = 100},
        {.unseen = 2},
        {.rows = 50, .by = order::lru},
        {.rows = 50, .by = order::lfu},
        {.rows = 50, .by = order::l2},
        {.admit_count = 2, .candidates = 40, .unseen = 4, .rows = 30, .by = order::lfu}}) {
    options.lifetime = lifetime;
    const auto expected = reference_hash<runtime::optimizers::adagrad>(options);
    EXPECT_NE(expected, eternal);
    for (const std::uint32_t shards : {1U, 3U}) {
      options.shards = shards;
      EXPECT_EQ(hash_of(options), expected);
    }
  }
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

TEST(session_rows, have_the_same_bits_where_they_are_asked_for_ahead) {
  setting options;
  options.optimizer = "adagrad";
  for (const runtime::row_lifetime& lifetime :
       {runtime::row_lifetime{},
        {.unseen = 2},
        {.rows = 50, .by = runtime::eviction_order::lfu}}) {
    options.lifetime = lifetime;
    const auto expected = reference_hash<runtime::optimizers::adagrad>(options);
    for (const std::uint32_t shards : {1U, 3U}) {
      options.shards = shards;
      options.asks_ahead = true;
      for (const bool windows : {true, false}) {
        EXPECT_EQ(hash_of(options, {}, windows), expected);
        EXPECT_EQ(hash_of(options, {shards, 3}, windows), expected) << "frames are late";
      }
    }
  }
}

TEST(session_rows, are_stepped_by_every_optimizer_of_rows) {
  std::set<std::string> hashes;
  for (const auto& traits : runtime::optimizers_known) {
    if (!traits.steps_rows) continue;
    setting options;
    options.optimizer = traits.name;
    const auto hash = hash_of(options);
    options.shards = 3;
    options.parts = 9;
    EXPECT_EQ(hash_of(options), hash) << traits.name;
    hashes.insert(hash);
  }
  EXPECT_EQ(hashes.size(), 7U);
}

// AdaGrad looks at each column by itself, so it does not matter how they are cut.
TEST(session_rows, have_the_same_bits_where_segments_are_alike) {
  setting options;
  options.optimizer = "adagrad";
  const auto whole = hash_of(options);
  options.segments = {{1, "adagrad"}, {dim - 1, "adagrad"}};
  EXPECT_EQ(hash_of(options), whole);
}

TEST(session_rows, have_the_same_bits_with_segments_on_any_shards) {
  setting options;
  options.segments = {{1, "ftrl"}, {2, "adam"}, {dim - 3, "rowwise_adagrad"}};
  options.lifetime = {.admit_count = 2, .candidates = 100, .unseen = 4};
  std::set<std::string> hashes;
  for (const std::uint32_t shards : {1U, 2U, 4U}) {
    options.shards = shards;
    hashes.insert(hash_of(options, {shards, 3}));
  }
  EXPECT_EQ(hashes.size(), 1U);
  std::swap(options.segments[0].second, options.segments[1].second);
  EXPECT_FALSE(hashes.contains(hash_of(options)));
}

TEST(session_rows, have_the_same_bits_where_they_lie_in_a_file) {
  if (!disk_folder()) GTEST_SKIP() << "no folder on a disk";
  setting options;
  options.optimizer = "adam";
  options.lifetime = {.rows = 50, .by = runtime::eviction_order::l2};
  const auto expected = hash_of(options);
  options.lies_in_file = true;
  EXPECT_EQ(hash_of(options), expected);
  options.shards = 3;
  EXPECT_EQ(hash_of(options), expected);
}

TEST(session_rows, go_through_under_every_policy) {
  for (const auto policy : {consistency_kind::ssp, consistency_kind::async}) {
    setting options;
    options.consistency = {policy, 1};
    EXPECT_EQ(hash_of(options, {5, 3}).size(), 64U);
  }
}

}  // namespace
}  // namespace tidegate::tests
