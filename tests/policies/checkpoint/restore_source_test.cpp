// A checkpoint of many tables is opened once for all of them, whatever their number: what is
// asked of the storage is counted, not how long it takes.
#include "policies/checkpoint/restore_source.hpp"

#include <gmock/gmock.h>

#include "launch/simulate/cluster/disk.hpp"
#include "policies/checkpoint/catalog.hpp"
#include "policies/checkpoint/writer.hpp"
#include "tests/support/counting_storage.hpp"

namespace tidegate::policies {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t shards = 2;
constexpr std::uint64_t chunk_elements = 4;

struct restore_source_test : testing::Test {
  static std::string name_of(std::uint32_t table) { return "table-" + std::to_string(table); }
  chunk_image image_of(std::uint32_t table, std::uint32_t chunk, std::uint32_t chunks) {
    chunk_image image;
    image.about.table = name_of(table);
    image.about.shape = {chunks * chunk_elements};
    image.about.chunk = chunk;
    image.about.first = chunk * chunk_elements;
    image.about.elements = chunk_elements;
    image.about.optimizer = default_optimizer(optimizer_kind::momentum);
    image.about.version = 7;
    image.about.ranks = {{7, false}, {7, false}};
    image.arrays = {values, values, {}};
    return image;
  }
  // Chunks go to the shards in turn.
  checkpoint_id write(std::uint32_t tables, std::uint32_t chunks) {
    const auto id = written.begin(1);
    checkpoint_manifest manifest;
    manifest.id = id;
    manifest.job = "job";
    manifest.workers = 2;
    manifest.clock = 7;
    std::vector<std::vector<chunk_image>> images(shards);
    std::vector<std::vector<chunk_run>> runs(shards);
    for (std::uint32_t table = 0; table < tables; ++table) {
      manifest.tables.push_back({name_of(table), {chunks * chunk_elements}, chunks});
      for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
        images[chunk % shards].push_back(image_of(table, chunk, chunks));
        runs[chunk % shards].push_back({table, chunk, 1});
      }
    }
    for (std::uint32_t shard = 0; shard < shards; ++shard) {
      auto writer =
          write_shard_file({.job = manifest.job, .id = id, .shard = shard}, images[shard]);
      EXPECT_TRUE(writer);
      const auto file = write_all(std::move(*writer), disk);
      EXPECT_TRUE(file);
      manifest.parts.push_back({shard, *file, std::move(runs[shard])});
    }
    auto writer = write_manifest(manifest);
    EXPECT_TRUE(writer);
    EXPECT_TRUE(write_all(std::move(*writer), disk));
    written.add(id);
    return id;
  }
  restore_source::folder_opener opener() {
    return [this]() -> runtime::expected<restore_source::folder> {
      ++folders_opened;
      return std::make_unique<tests::counting_storage>(disk, counts);
    };
  }
  // As a shard does that owns all chunks of the table.
  runtime::status read_all(restore_source& source, checkpoint_id id, const std::string& name) {
    const auto found = source.find_table(id, name, opener());
    if (!found) return found.error();
    const auto& [from, table, folder] = *found;
    std::vector<float> into(chunk_elements);
    for (const auto& source_chunk : from.chunks(table))
      for (std::size_t array = 0; array < chunk_arrays(source_chunk.stored.about); ++array) {
        auto read = from.read(folder, table, array, source_chunk.stored.about.first, into);
        if (!read.ok()) return read;
        ++arrays;
      }
    source.table_read();
    return {};
  }

  std::vector<float> values = std::vector<float>(chunk_elements, 1.0F);
  sim::draws chance{3};
  sim::disk machine{chance};
  sim::disk_view disk{machine};
  checkpoint_catalog written{disk};
  std::map<std::string, tests::storage_counts> counts;  // by file
  std::uint64_t folders_opened = 0;
  std::uint64_t arrays = 0;  // read
};

TEST_F(restore_source_test, a_checkpoint_is_opened_once_for_all_its_tables) {
  const std::uint32_t tables = 300;
  const auto id = write(tables, 20);
  restore_source source;
  for (std::uint32_t table = 0; table < tables; ++table) {
    ASSERT_TRUE(read_all(source, id, name_of(table)).ok());
    EXPECT_EQ(source.is_open(), table + 1 < tables) << "it goes with the last table";
  }
  EXPECT_EQ(arrays, tables * 20U * 2);
  EXPECT_EQ(folders_opened, 1U);
  EXPECT_EQ(counts[manifest_name(id)].reads, 1U);
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    const auto file = counts[shard_file_name(id, shard)];
    EXPECT_EQ(file.looks, 1U);
    EXPECT_EQ(file.reads_begun, 1U) << "its header is read once";
    EXPECT_EQ(file.reads, 2U + arrays / shards);
    EXPECT_LE(file.bytes_read, *disk.size(shard_file_name(id, shard)))
        << "no byte is read twice";
  }
}

// Whoever goes on from a checkpoint reads it once, with its hashes.
TEST_F(restore_source_test, a_checkpoint_is_hashed_once) {
  const auto id = write(300, 20);
  tests::counting_storage counted(disk, counts);
  checkpoint_catalog catalog(counted);
  std::vector<std::string> findings;
  ASSERT_TRUE(catalog.newest(findings));
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    const auto name = shard_file_name(id, shard);
    EXPECT_EQ(counts[name].reads_begun, 2U) << "for its header, and for its hash";
    EXPECT_LE(counts[name].bytes_read, 2 * *disk.size(name));
  }
}

// 10,000 tables in 100,000 chunks. Work that grows with the square of either would take longer
// than the test may.
TEST_F(restore_source_test, many_tables_and_chunks_are_written_found_and_read) {
  const std::uint32_t tables = 10'000;
  const auto id = write(tables, 10);
  tests::counting_storage counted(disk, counts);
  checkpoint_catalog catalog(counted);
  std::vector<std::string> findings;
  const auto found = catalog.newest(findings);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->manifest().tables.size(), tables);
  counts.clear();
  restore_source source;
  for (std::uint32_t table = 0; table < tables; ++table)
    ASSERT_TRUE(read_all(source, id, name_of(table)).ok());
  EXPECT_EQ(arrays, 200'000U);
  std::uint64_t reads = 0;
  for (const auto& [name, file] : counts) reads += file.reads;
  EXPECT_EQ(reads, 1U + 2 * shards + arrays);
}

TEST_F(restore_source_test, holds_one_checkpoint_and_none_when_workers_come_in) {
  const auto old = write(3, 1);
  const auto id = write(3, 1);
  restore_source source;
  ASSERT_TRUE(read_all(source, old, name_of(0)).ok());
  ASSERT_TRUE(read_all(source, id, name_of(0)).ok());
  EXPECT_EQ(folders_opened, 2U);
  EXPECT_EQ(counts[manifest_name(old)].reads, 1U);
  source.release();
  EXPECT_FALSE(source.is_open());
  ASSERT_TRUE(read_all(source, id, name_of(1)).ok());
  EXPECT_EQ(counts[manifest_name(id)].reads, 2U);
}

TEST_F(restore_source_test, says_what_is_missing) {
  const auto id = write(1, 1);
  restore_source source;
  const auto other = read_all(source, id, "other");
  EXPECT_EQ(other.code(), runtime::errc::not_found);
  EXPECT_THAT(other.message(), HasSubstr("has no table 'other'"));
  source.release();
  EXPECT_TRUE(disk.remove(manifest_name(id)));
  EXPECT_FALSE(read_all(source, id, name_of(0)).ok());
  EXPECT_FALSE(source.is_open());
}

}  // namespace
}  // namespace tidegate::policies
