// Tables whose optimizer or reduction is a rule of a plugin, against a real cluster in this
// process.
#include "tests/support/plugin_rules.hpp"

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/rng.hpp"
#include "tests/actors/session/session_fixture.hpp"

namespace tidegate::tests {
namespace {

constexpr std::uint32_t workers = 3;
constexpr std::uint64_t elements = 700;
constexpr std::uint64_t clocks = 4;

float gradient_of(std::uint64_t rank, std::uint64_t clock, std::uint64_t element) {
  return static_cast<float>(runtime::mix64(rank * 1000 + clock * 100'000 + element) % 101) /
             16 -
         3;
}

class session_plugin_rules : public session_test {
 protected:
  session_plugin_rules() { use_rules_of_tests(); }
  void refused(session& s, const tidegate::optimizer& wanted, errc code, const char* why) {
    tidegate::table_options options;
    options.optimizer = wanted;
    const auto t = s.open_table("refused " + std::to_string(refused_++), {4}, options);
    ASSERT_FALSE(t) << why;
    expect(t.error(), code, why);
  }
  int refused_ = 0;
};

tidegate::optimizer blend(const std::string& reduce) {
  tidegate::optimizer options;
  options.name = "plugin:blend";
  options.states = 2;
  options.learning_rate = 0.25F;
  options.beta1 = 0.5F;
  options.reduce = reduce;
  return options;
}

// What all ranks push at this clock, as this reduction has it.
float reduced(const std::string& by, std::uint64_t clock, std::uint64_t element) {
  const auto of = [&](std::uint64_t rank) { return gradient_of(rank, clock, element); };
  if (by == "sum") return (of(0) + of(1)) + of(2);
  return strongest_of(strongest_of(of(0), of(1)), of(2));
}

blended expected_of(const std::string& by, std::uint64_t steps, std::uint64_t element) {
  runtime::optimizer_options options;
  options.learning_rate = 0.25F;
  options.beta1 = 0.5F;
  blended expected;
  for (std::uint64_t clock = 0; clock < steps; ++clock)
    expected.step(options, reduced(by, clock, element), static_cast<int>(clock + 1));
  return expected;
}

void run_dense(session& s, const std::string& by) {
  tidegate::table_options options;
  options.optimizer = blend(by);
  const auto t = s.open_table("t", {elements}, options);
  ASSERT_TRUE(t) << t.error().message();
  while (s.now() < clocks) {
    auto gradient = s.gradient(*t);
    for (std::uint64_t i = 0; i < elements; ++i)
      gradient[i] = gradient_of(s.info().rank, s.now(), i);
    ASSERT_TRUE(s.push(*t).wait().ok());
    ASSERT_TRUE(s.clock().ok());
    ASSERT_TRUE(s.pull(*t).wait().ok());
    const auto values = s.parameters(*t);
    for (std::uint64_t i = 0; i < elements; ++i)
      ASSERT_EQ(values[i], expected_of(by, s.now(), i).w) << by << ", element " << i;
  }
  ASSERT_TRUE(s.finish().ok());
}

TEST_F(session_plugin_rules, step_dense_tables_on_any_shards_and_ways) {
  for (const std::string by : {"sum", "plugin:strongest"})
    for (const std::uint32_t shards : {1U, 3U})
      for (const bool windows : {false, true}) {
        runtime::loopback_network late({shards, 3});
        local_cluster cluster(
            small_cluster(shards, workers, {consistency_kind::bsp, 0}, 1024),
            [&] { return runtime::expected<std::unique_ptr<runtime::link>>(late.make_link()); },
            windows);
        std::atomic<int> finished{0};
        cluster.run_workers("job", [&](session& s) {
          run_dense(s, by);
          ++finished;
        });
        EXPECT_EQ(finished, static_cast<int>(workers));
      }
}

TEST_F(session_plugin_rules, step_rows) {
  constexpr std::uint32_t dim = 5;
  for (const std::string by : {"sum", "plugin:strongest"}) {
    local_cluster cluster(small_cluster(2, workers, {consistency_kind::bsp, 0}), links());
    std::atomic<int> finished{0};
    cluster.run_workers("job", [&](session& s) {
      row_table_options options;
      options.optimizer = blend(by);
      options.init_constant = 0.0F;
      const auto t = s.open_rows("rows", dim, options);
      ASSERT_TRUE(t) << t.error().message();
      std::vector<std::uint64_t> ids(100);
      for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i * 977;
      floats gradients(ids.size() * dim), got(ids.size() * dim);
      while (s.now() < clocks) {
        for (std::size_t i = 0; i < gradients.size(); ++i)
          gradients[i] = gradient_of(s.info().rank, s.now(), i);
        ASSERT_TRUE(t->push(ids, gradients).wait().ok());
        ASSERT_TRUE(s.clock().ok());
        ASSERT_TRUE(t->pull(ids, got).wait().ok());
        for (std::size_t i = 0; i < got.size(); ++i)
          ASSERT_EQ(got[i], expected_of(by, s.now(), i).w) << by << ", element " << i;
      }
      ASSERT_TRUE(s.finish().ok());
      ++finished;
    });
    EXPECT_EQ(finished, static_cast<int>(workers));
  }
}

TEST_F(session_plugin_rules, that_step_whole_rows_have_them) {
  local_cluster cluster(small_cluster(1, 1, {consistency_kind::bsp, 0}), links());
  cluster.run_workers("job", [&](session& s) {
    row_table_options options;
    tidegate::optimizer whole;
    whole.name = "plugin:scaled_rows";
    tidegate::optimizer descent;
    descent.name = "sgd";
    descent.learning_rate = 1.0F;
    options.segments = {{.columns = 4, .optimizer = whole, .init_constant = 8.0F},
                        {.columns = 2, .optimizer = descent, .init_constant = 8.0F}};
    const auto t = s.open_rows("rows", 6, options);
    ASSERT_TRUE(t) << t.error().message();
    const std::vector<std::uint64_t> ids = {3};
    ASSERT_TRUE(t->push(ids, floats(6, 4.0F)).wait().ok());
    ASSERT_TRUE(s.clock().ok());
    floats got(6);
    ASSERT_TRUE(t->pull(ids, got).wait().ok());
    EXPECT_EQ(got, (floats{1, 1, 1, 1, 4, 4})) << "four columns, and two of another optimizer";
    ASSERT_TRUE(s.finish().ok());
  });
}

TEST_F(session_plugin_rules, that_are_wrong_are_refused_by_those_that_would_run_them) {
  const std::pair<const char*, tidegate::optimizer> cases[] = {
      {"'plugin:lost' is not here; allowed: plugin:blend, plugin:scaled_rows",
       {.name = "plugin:lost"}},
      {"keeps other numbers for each element; allowed: states: 2", {.name = "plugin:blend"}},
      {"steps whole rows; allowed: tables of rows", {.name = "plugin:scaled_rows"}},
      {"'plugin:lost' is not here; allowed: plugin:strongest",
       {.name = "sgd", .reduce = "plugin:lost"}}};
  for (const auto& [why, wanted] : cases) {
    local_cluster cluster(small_cluster(1, 1, {consistency_kind::bsp, 0}), links());
    cluster.run_workers("job", [&](session& s) {
      tidegate::table_options options;
      options.optimizer = wanted;
      const auto t = s.open_table("t", {4}, options);
      ASSERT_FALSE(t) << why;
      EXPECT_NE(t.error().message().find(why), std::string::npos) << t.error().message();
    });
  }
}

TEST_F(session_plugin_rules, that_are_not_words_are_refused_at_once) {
  local_cluster cluster(small_cluster(1, 1, {consistency_kind::bsp, 0}), links());
  cluster.run_workers("job", [&](session& s) {
    refused(s, {.name = "plugin:"}, errc::invalid_argument, "'plugin:' is not known");
    refused(s, {.name = "plugin:a b"}, errc::invalid_argument, "'plugin:a b' is not known");
    refused(s, {.name = "sgd", .states = 1}, errc::invalid_argument, "optimizer.states: 1");
    refused(s, {.name = "plugin:blend", .states = 3}, errc::invalid_argument,
            "optimizer.states: 3; allowed: 0 to 2");
    ASSERT_TRUE(s.finish().ok());
  });
}

// Workers have no plugins.
TEST_F(session_plugin_rules, combine_no_rows_of_one_push) {
  local_cluster cluster(small_cluster(1, 1, {consistency_kind::bsp, 0}), links());
  cluster.run_workers("job", [&](session& s) {
    row_table_options options;
    options.optimizer.name = "sgd";
    options.optimizer.reduce = "plugin:strongest";
    const auto t = s.open_rows("rows", 1, options);
    ASSERT_TRUE(t) << t.error().message();
    const std::vector<std::uint64_t> twice = {7, 9, 7};
    const auto pushed = t->push(twice, floats(3, 1.0F)).wait();
    expect(pushed, errc::invalid_argument, "an id comes more than once");
    ASSERT_TRUE(s.finish().ok());
  });
}

}  // namespace
}  // namespace tidegate::tests
