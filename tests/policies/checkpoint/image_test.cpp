// A chunk's way into a file and out of it: to the last bit, and nothing that is not a chunk.
#include "policies/checkpoint/image.hpp"

#include <bit>
#include <limits>

#include <gmock/gmock.h>

#include "policies/checkpoint/optimizer_record.hpp"
#include "policies/model/row_rules.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/rng.hpp"

namespace tidegate::policies {
namespace {

using runtime::errc;
using testing::HasSubstr;

const shard_file_title title{.job = "mlp", .id = {2, 17}, .shard = 3};

chunk_image image_of(const chunk_description& about, const std::vector<float>& values) {
  chunk_image made{about, {}};
  for (auto& array : made.arrays) array = values;
  return made;
}

chunk_description adam_chunk() {
  chunk_description about;
  about.table = "fc1.weight";
  about.shape = {4, 3};
  about.chunk = 2;
  about.first = 8;
  about.elements = 4;
  about.optimizer = default_optimizer(optimizer_kind::adam);
  about.optimizer.clip_value = 0.3F;
  about.optimizer.schedule = {
      .kind = runtime::schedule_kind::cosine, .warmup = 3, .clocks = 100, .factor = 0.1F};
  about.optimizer.lazy = true;
  about.optimizer.reduce = runtime::reduction::min;
  about.optimizer.l1 = 0.7F;
  about.optimizer.l2 = 0.2F;
  about.optimizer.beta = 0.4F;
  about.optimizer.l21 = 0.9F;
  about.version = 1ULL << 60;
  about.ranks = {{7, false}, {7, false}, {9, true}, {7, false}};
  return about;
}

struct written {
  std::string json;
  std::uint64_t file_bytes = 0;
};
written write(std::span<const chunk_image> chunks) {
  const auto head = encode_shard_file(title, chunks);
  EXPECT_TRUE(head) << head.error().message();
  std::uint64_t bytes = head->size();
  for (const auto& one : chunks) bytes += chunk_arrays(one.about) * one.about.elements * 4;
  return {head->substr(safetensors_head_bytes), bytes};
}

TEST(checkpoint_image, comes_out_as_it_went_in) {
  const std::vector<float> values(4);
  auto sgd = adam_chunk();
  sgd.optimizer = default_optimizer(optimizer_kind::sgd);
  sgd.chunk = 0;
  sgd.first = 0;
  sgd.ranks.clear();
  const std::vector<chunk_image> chunks{image_of(adam_chunk(), values), image_of(sgd, values)};
  const auto [json, bytes] = write(chunks);
  const auto read = decode_shard_file(json, bytes);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->title, title);
  ASSERT_EQ(read->chunks.size(), 2U);
  EXPECT_EQ(read->chunks[0].about, sgd);
  EXPECT_EQ(read->chunks[1].about, adam_chunk());
  const auto data = 8 + json.size();
  EXPECT_THAT(read->chunks[1].offsets, testing::ElementsAre(data, data + 16, data + 32, 0));
  EXPECT_EQ(read->chunks[0].offsets[0], data + 48);
}

TEST(checkpoint_image, numbers_keep_all_their_bits) {
  runtime::rng random(5);
  const std::vector<float> values(4);
  for (int i = 0; i < 2'000; ++i) {
    auto about = adam_chunk();
    // Of any size, subnormals among them.
    const auto draw = [&] {
      const auto number = std::bit_cast<double>(random.next() & 0x7fff'ffff'ffff'ffffULL);
      return std::isfinite(number) ? number : std::numeric_limits<double>::denorm_min();
    };
    about.beta1_power = draw();
    about.beta2_power = i % 2 == 0 ? draw() : std::ldexp(draw(), -1000);
    const auto rate = std::bit_cast<float>(static_cast<std::uint32_t>(random.next()));
    about.optimizer.learning_rate = std::isfinite(rate) ? rate : 0.1F;
    about.version = random.next();
    const std::vector<chunk_image> chunks{image_of(about, values)};
    const auto [json, bytes] = write(chunks);
    const auto read = decode_shard_file(json, bytes);
    ASSERT_TRUE(read) << read.error().message();
    const auto& out = read->chunks[0].about;
    ASSERT_EQ(std::bit_cast<std::uint64_t>(out.beta1_power),
              std::bit_cast<std::uint64_t>(about.beta1_power));
    ASSERT_EQ(std::bit_cast<std::uint64_t>(out.beta2_power),
              std::bit_cast<std::uint64_t>(about.beta2_power));
    ASSERT_EQ(std::bit_cast<std::uint32_t>(out.optimizer.learning_rate),
              std::bit_cast<std::uint32_t>(about.optimizer.learning_rate));
    ASSERT_EQ(out, about);
  }
}

TEST(checkpoint_image, tables_may_be_called_like_chunks) {
  const std::vector<float> values(4);
  std::vector<chunk_image> chunks;
  for (const std::string name :
       {"a", "a/2", "a/2/parameters", "", "tidegate", "\xc3\xa9\"\n"}) {
    auto about = adam_chunk();
    about.table = name;
    chunks.push_back(image_of(about, values));
  }
  const auto [json, bytes] = write(chunks);
  const auto read = decode_shard_file(json, bytes);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->chunks.size(), chunks.size());
}

TEST(checkpoint_image, what_is_no_number_or_no_text_is_not_written) {
  const std::vector<float> values(4);
  auto about = adam_chunk();
  about.optimizer.epsilon = std::numeric_limits<float>::infinity();
  const chunk_image infinite = image_of(about, values);
  EXPECT_EQ(encode_shard_file(title, {&infinite, 1}).error().code(), errc::invalid_argument);
  about = adam_chunk();
  about.table = "\xff";
  const chunk_image unreadable = image_of(about, values);
  EXPECT_EQ(encode_shard_file(title, {&unreadable, 1}).error().code(), errc::invalid_argument);
}

// One text of a file that is right, and what its reader says to another one in its place.
TEST(checkpoint_image, what_is_not_a_chunk_is_refused) {
  const std::vector<float> values(4);
  const chunk_image chunk = image_of(adam_chunk(), values);
  const auto [json, bytes] = write({&chunk, 1});
  const struct {
    const char* from;
    const char* to;
    const char* why;
  } changes[] = {
      {.from = R"(\"format\":1)", .to = R"(\"format\":2)", .why = "reads format 1"},
      {.from = R"(\"checkpoint\":\"e0002-)",
       .to = R"(\"checkpoint\":\"e2-00)",
       .why = "names none"},
      {.from = R"("tidegate":)", .to = R"("tidegatf":)", .why = "not of a checkpoint"},
      {.from = R"(\"first\":8)", .to = R"(\"first\":9)", .why = "not a part of its table"},
      {.from = R"(\"chunk\":2)", .to = R"(\"chunk\":3)", .why = "not a part of its table"},
      {.from = R"(\"elements\":4)", .to = R"(\"elements\":3)", .why = "tensor"},
      {.from = R"(\"elements\":4)",
       .to = R"(\"elements\":0)",
       .why = "not a part of its table"},
      {.from = R"(\"kind\":\"adam\")",
       .to = R"(\"kind\":\"adan\")",
       .why = "unknown optimizer"},
      {.from = R"(\"kind\":\"cosine\")",
       .to = R"(\"kind\":\"cosina\")",
       .why = "unknown schedule"},
      {.from = R"(\"clocks\":100)", .to = R"(\"clocks\":0)", .why = "has no clocks"},
      {.from = R"(\"version\":1)",
       .to = R"(\"version\":-1)",
       .why = "'version' is no whole number"},
      {.from = R"([9,1,1])", .to = R"([9,2,1])", .why = "'ranks'"},
      {.from = R"([9,1,1])", .to = R"([9,1,9999])", .why = "'ranks'"},
      {.from = R"(/state2")", .to = R"(/state3")", .why = "has no tensor"},
  };
  for (const auto& [from, to, why] : changes) {
    auto changed = json;
    const auto at = changed.find(from);
    ASSERT_NE(at, changed.npos) << from;
    changed.replace(at, std::string(from).size(), to);
    const auto added = changed.size() - json.size();
    const auto read = decode_shard_file(changed, bytes + added);
    ASSERT_FALSE(read) << from;
    EXPECT_THAT(read.error().message(), HasSubstr(why)) << from;
  }
}

TEST(checkpoint_image, of_a_part_of_a_table_of_rows_has_rows_and_candidates) {
  auto about = adam_chunk();
  about.optimizer.clip_value = 0;
  about.shape = {3};
  about.chunk = 1;
  about.first = 1;
  about.elements = 1;
  about.rows = {.dim = 5,
                .capacity = 60,
                .lifetime = {.admit_count = 2, .candidates = 40, .unseen = 7, .rows = 60},
                .memory = 1ULL << 33U};
  about.row_count = 4;
  about.row_state = 10;
  about.candidate_count = 3;
  about.row_clock = 77;
  ASSERT_EQ(chunk_arrays(about), 4U);
  const std::vector<float> values(4 * 18);
  chunk_image image{about, {}};
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    image.arrays[i] = std::span(values).first(array_floats(about, i));
    bytes += image.arrays[i].size_bytes();
  }
  EXPECT_EQ(bytes, 4 * (5 * 4 + 10 * 4 + 3 * 8) + 3 * 3 * 8U);
  const auto head = encode_shard_file(title, {&image, 1});
  ASSERT_TRUE(head) << head.error().message();
  const auto read =
      decode_shard_file(head->substr(safetensors_head_bytes), head->size() + bytes);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->chunks[0].about, about);
  // Numbers that no table has, and an optimizer of dense tables alone.
  const auto refused = [&](auto change) {
    auto other = about;
    change(other);
    image.about = other;
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      image.arrays[i] = std::span(values).first(array_floats(other, i));
      all += image.arrays[i].size_bytes();
    }
    const auto text = encode_shard_file(title, {&image, 1});
    ASSERT_TRUE(text) << text.error().message();
    const auto decoded =
        decode_shard_file(text->substr(safetensors_head_bytes), text->size() + all);
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().code(), errc::corrupt);
  };
  auto cut = about;
  cut.rows.segments = {{.columns = 2, .optimizer = about.optimizer}, {.columns = 3}};
  cut.rows.segments[1].init = {init_kind::constant, 0.5F};
  image.about = cut;
  const auto with_segments = encode_shard_file(title, {&image, 1});
  const auto read_again = decode_shard_file(with_segments->substr(safetensors_head_bytes),
                                            with_segments->size() + bytes);
  ASSERT_TRUE(read_again) << read_again.error().message();
  EXPECT_EQ(read_again->chunks[0].about, cut);
  const auto cut_into = [&](std::vector<std::uint32_t> columns) {
    return [&, columns](auto& of) {
      of.rows.segments.clear();
      for (const auto count : columns)
        of.rows.segments.push_back({.columns = count, .optimizer = of.optimizer});
    };
  };
  refused(cut_into({4}));
  refused(cut_into({0, 5}));
  refused([&](auto& of) {
    of.rows.dim = 9;
    of.row_state = 18;
    cut_into(std::vector<std::uint32_t>(9, 1))(of);
  });
  refused([&](auto& of) {
    cut_into({2, 3})(of);
    of.rows.segments[1].optimizer.kind = optimizer_kind::momentum;
  });
  refused([&](auto& of) {
    cut_into({2, 3})(of);
    of.rows.segments[1].optimizer.epsilon = std::numeric_limits<float>::quiet_NaN();
  });
  refused([&](auto& of) {
    cut_into({2, 3})(of);
    of.rows.segments[0].optimizer.epsilon = 0.5F;
  });
  refused([](auto& of) { of.optimizer.kind = optimizer_kind::momentum; });
  refused([](auto& of) { of.rows.memory = runtime::limits::row_memory_max + 1; });
  refused([](auto& of) { of.rows.lifetime.rows = 61; });
  refused([](auto& of) { of.rows.lifetime.unseen = unseen_clocks_max + 1; });
  refused([](auto& of) { of.rows.lifetime.by = static_cast<runtime::eviction_order>(9); });
}

// Records before tables larger than memory lack a number of the table, those before rules of
// plugins the last of each segment, and those before reductions of tables another.
TEST(checkpoint_image, of_rows_of_earlier_versions_has_numbers_less) {
  constexpr std::size_t of_table = 10;
  constexpr std::size_t of_segment = 3 + optimizer_numbers;
  constexpr std::size_t before_rules = 3 + 18;
  chunk_description about;
  about.table = "user";
  about.shape = {1};
  about.elements = 1;
  about.rows = {.dim = 1, .capacity = 100};
  for (const std::uint32_t segments : {0U, 1U, 3U, 8U})
    for (const bool has_reductions : {true, false}) {
      about.rows.dim = std::max(segments, 1U);
      about.rows.segments.assign(segments, {.columns = 1});
      const chunk_image image{about, {}};
      const auto head = encode_shard_file(title, {&image, 1});
      ASSERT_TRUE(head) << head.error().message();
      auto json = head->substr(safetensors_head_bytes);
      const auto begin = json.find('[', json.find(R"(\"rows\":[)"));
      const auto end = json.find(']', begin);
      std::string older;
      std::size_t number = 0;
      for (auto at = begin; at < end; ++number) {
        const auto next = json.find_first_of(",]", at + 1);
        const auto of_own = number < of_table ? 0 : (number - of_table) % of_segment;
        const bool is_later = of_own + (has_reductions ? 0 : 1) >= before_rules;
        if (number + 1 != of_table && !is_later)
          older += (older.empty() ? "" : ",") + json.substr(at + 1, next - at - 1);
        at = next;
      }
      ASSERT_EQ(number, of_table + segments * of_segment);
      const auto bytes = head->size() - (end - begin - 1 - older.size());
      json.replace(begin + 1, end - begin - 1, older);
      const auto read = decode_shard_file(json, bytes);
      ASSERT_TRUE(read) << read.error().message();
      EXPECT_EQ(read->chunks[0].about, about) << segments;
    }
}

TEST(checkpoint_image, of_rows_before_they_came_and_went_has_fewer_numbers) {
  chunk_description about;
  about.table = "user";
  about.shape = {1};
  about.elements = 1;
  about.rows = {.dim = 5, .capacity = 100};
  about.row_clock = 0;
  const chunk_image image{about, {}};
  const auto head = encode_shard_file(title, {&image, 1});
  ASSERT_TRUE(head) << head.error().message();
  auto json = head->substr(safetensors_head_bytes);
  const auto bytes = head->size();
  const auto whole = json.size();
  const auto cut = [&](const std::string& key, int numbers) {
    auto at = json.find(key) + key.size();
    for (int i = 0; i < numbers; ++i) at = json.find_first_of(",]", at + 1);
    const auto end = json.find(']', at);
    json.erase(at, end - at);
  };
  cut(R"(\"rows\":[)", 4);
  cut(R"(\"row_count\":[)", 2);
  const auto read = decode_shard_file(json, bytes - (whole - json.size()));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->chunks[0].about, about);
}

TEST(checkpoint_image, has_the_rules_of_plugins_by_their_names) {
  const std::vector<float> values(4);
  auto about = adam_chunk();
  about.optimizer.kind = optimizer_kind::plugin;
  about.optimizer.rule = *runtime::make_rule_name("a-rule_with.23.letters-");
  about.optimizer.rule_states = 1;
  about.optimizer.reduce = runtime::reduction::plugin;
  about.optimizer.reduce_rule = *runtime::make_rule_name("strongest");
  const chunk_image chunk = image_of(about, values);
  auto [json, bytes] = write({&chunk, 1});
  const auto read = decode_shard_file(json, bytes);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->chunks[0].about, about);
  const std::string name("strongest");
  json.replace(json.find(name), name.size(), "str ngest");
  const auto wrong = decode_shard_file(json, bytes);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code(), runtime::errc::corrupt);
}

TEST(checkpoint_image, of_version_0_2_has_neither_clip_value_nor_schedule_and_is_not_lazy) {
  const std::vector<float> values(4);
  const chunk_image chunk = image_of(adam_chunk(), values);
  auto [json, bytes] = write({&chunk, 1});
  const auto whole = json.size();
  for (const auto* key : {R"(\"clip_value\":)", R"(\"schedule\":{)", R"(\"lazy\":)",
                          R"(\"l1\":)", R"(\"l2\":)", R"(\"beta\":)", R"(\"l21\":)",
                          R"(\"reduce\":)", R"(\"reduce_rule\":)", R"(\"states\":)"}) {
    const auto at = json.find(key);
    ASSERT_NE(at, json.npos) << key;
    const bool is_map = json[at + std::string(key).size() - 1] == '{';
    const auto end = json.find(is_map ? '}' : ',', at);
    json.erase(at, end - at + (is_map ? 2 : 1));
  }
  const auto read = decode_shard_file(json, bytes - (whole - json.size()));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->chunks[0].about.optimizer, default_optimizer(optimizer_kind::adam));
}

}  // namespace
}  // namespace tidegate::policies
