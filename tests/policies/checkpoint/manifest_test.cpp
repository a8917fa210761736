// Manifests and names: what is written reads back, what has changed does not.
#include "policies/checkpoint/manifest.hpp"

#include <gmock/gmock.h>

#include "runtime/base/sha256.hpp"

namespace tidegate::policies {
namespace {

using runtime::errc;
using testing::HasSubstr;

checkpoint_part part(std::uint32_t shard, std::vector<chunk_run> runs) {
  return {.shard = shard,
          .file = {.name = shard_file_name({2, 17}, shard),
                   .bytes = 1000 + shard,
                   .sha256 = std::string(64, 'a')},
          .chunks = std::move(runs)};
}

checkpoint_manifest sample() {
  checkpoint_manifest manifest;
  manifest.id = {2, 17};
  manifest.job = "mlp";
  manifest.seed = ~0ULL;
  manifest.consistency = {consistency_kind::ssp, 3};
  manifest.workers = 4;
  manifest.clock = 500;
  manifest.left = {1, 3};
  manifest.tables = {{.name = "w", .shape = {784, 256}, .chunks = 4},
                     {.name = "b", .shape = {}, .chunks = 1}};
  manifest.parts = {
      part(1, {{.table = 0, .first = 0, .count = 2}, {.table = 0, .first = 3, .count = 1}}),
      part(0, {{.table = 1, .first = 0, .count = 1}, {.table = 0, .first = 2, .count = 1}})};
  return manifest;
}

// With the hash that its first line should have.
std::string hashed(const std::string& line) {
  runtime::sha256 hash;
  hash.update(std::as_bytes(std::span(line)));
  return line + R"({"sha256":")" + hash.finish() + "\"}\n";
}

TEST(checkpoint_manifest, comes_out_as_it_went_in) {
  const auto text = encode_manifest(sample());
  ASSERT_TRUE(text) << text.error().message();
  const auto read = decode_manifest(*text);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, sample());
}

TEST(checkpoint_manifest, no_bit_may_change_and_no_byte_be_missing_or_added) {
  const auto text = *encode_manifest(sample());
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_FALSE(decode_manifest(text.substr(0, i))) << i;
    for (int bit = 0; bit < 8; ++bit) {
      auto changed = text;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      EXPECT_FALSE(decode_manifest(changed)) << "byte " << i << " bit " << bit;
    }
  }
  EXPECT_FALSE(decode_manifest(text + "\n"));
  EXPECT_FALSE(decode_manifest(text + text));
}

TEST(checkpoint_manifest, every_chunk_is_in_one_part) {
  const auto refused = [](std::vector<checkpoint_part> parts) {
    auto manifest = sample();
    manifest.parts = std::move(parts);
    const auto text = encode_manifest(manifest);
    return text ? std::string("written") : text.error().message();
  };
  EXPECT_THAT(refused({part(0, {{0, 0, 4}})}), HasSubstr("'b': chunk 0"));
  EXPECT_THAT(refused({part(0, {{0, 0, 3}, {1, 0, 1}})}), HasSubstr("'w': chunk 3"));
  EXPECT_THAT(refused({part(0, {{0, 0, 4}, {1, 0, 1}}), part(1, {{0, 2, 1}})}),
              HasSubstr("in two"));
  EXPECT_THAT(refused({part(0, {{0, 0, 4}, {1, 0, 1}}), part(1, {{2, 0, 1}})}),
              HasSubstr("no table"));
  EXPECT_THAT(refused({part(0, {{0, 0, 5}, {1, 0, 1}})}), HasSubstr("'w': chunk 5"));
  EXPECT_THAT(refused({part(0, {{0, 0, 4}}), part(0, {{1, 0, 1}})}), HasSubstr("one shard"));
  EXPECT_THAT(refused({part(0, {{0, 0, 0}, {0, 0, 4}, {1, 0, 1}})}), HasSubstr("lists no"));
  auto twice = sample();
  twice.tables[1].name = "w";
  EXPECT_FALSE(encode_manifest(twice));
}

TEST(checkpoint_manifest, what_is_written_wrongly_is_told) {
  const auto text = *encode_manifest(sample());
  const auto line = text.substr(0, text.find('\n') + 1);
  const struct {
    const char* from;
    const char* to;
    const char* why;
  } changes[] = {
      {.from = R"("format":2)", .to = R"("format":3)", .why = "reads format 2"},
      {.from = R"("left":[1,3])", .to = R"("left":[1,5])", .why = "'left' is of no ranks"},
      {.from = R"("left":[1,3])",
       .to = R"("left":[0,1,2,3,3])",
       .why = "'left' is of no ranks"},
      {.from = R"("policy":"ssp")", .to = R"("policy":"sst")", .why = "'policy'"},
      {.from = R"("workers":4)",
       .to = R"("workers":4000)",
       .why = "'workers' is no whole number of at most 1024"},
      {.from = R"("checkpoint":"e0002)",
       .to = R"("checkpoint":"e0003)",
       .why = "is no file of it"},
      {.from = R"("file":"e0002)", .to = R"("file":"../e0)", .why = "is no file of it"},
      {.from = R"("sha256":"aa)", .to = R"("sha256":"AA)", .why = "is no file of it"},
      {.from = R"([1,0,1])", .to = R"([1,0,4294967296])", .why = "'chunks' is of no chunks"},
      {.from = R"([1,0,1])", .to = R"([1,0,4294967295])", .why = "'b': chunk"},
      {.from = R"("clock":500)", .to = R"("clock":[[[[[[1]]]]]])", .why = "deeper"},
      {.from = R"("clock":500)", .to = R"("clock":5,"clock":6)", .why = "'clock' twice"},
      {.from = R"("tables":[)", .to = R"("tables":[7,)", .why = "no JSON object"},
  };
  for (const auto& [from, to, why] : changes) {
    auto changed = line;
    const auto at = changed.find(from);
    ASSERT_NE(at, changed.npos) << from;
    changed.replace(at, std::string(from).size(), to);
    const auto read = decode_manifest(hashed(changed));
    ASSERT_FALSE(read) << to;
    EXPECT_THAT(read.error().message(), HasSubstr(why)) << to;
  }
}

TEST(checkpoint_name, says_what_a_file_is) {
  EXPECT_EQ(to_string(checkpoint_id{2, 17}), "e0002-00000017");
  EXPECT_EQ(parse_checkpoint_id("e0002-00000017"), (checkpoint_id{2, 17}));
  EXPECT_EQ(parse_checkpoint_id("e12345-1234567890"), (checkpoint_id{12345, 1234567890}));
  for (const std::string id : {"", "e2-17", "e0002-00000017 ", "e0002_00000017", "e-1-00000017",
                               "e4294967296-00000001", "x0002-00000017"})
    EXPECT_FALSE(parse_checkpoint_id(id)) << id;
  const auto manifest = parse_checkpoint_file("e0002-00000017.manifest");
  ASSERT_TRUE(manifest);
  EXPECT_TRUE(manifest->is_manifest && !manifest->is_temporary);
  const auto shard = parse_checkpoint_file("e0002-00000017-s0003.safetensors.tmp");
  ASSERT_TRUE(shard);
  EXPECT_TRUE(!shard->is_manifest && shard->is_temporary);
  EXPECT_EQ(shard->id, (checkpoint_id{2, 17}));
  for (const std::string name : {"e0002-00000017", "e0002-00000017.manifest.tmp.tmp",
                                 "e0002-00000017-s3.safetensors", "notes.txt", ".tmp"})
    EXPECT_FALSE(parse_checkpoint_file(name)) << name;
}

TEST(checkpoint_name, later_epochs_are_newer_whatever_their_numbers) {
  EXPECT_LT((checkpoint_id{1, 9}), (checkpoint_id{2, 1}));
  EXPECT_LT((checkpoint_id{2, 1}), (checkpoint_id{2, 2}));
}

}  // namespace
}  // namespace tidegate::policies
