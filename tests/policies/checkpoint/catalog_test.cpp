// Finding, keeping and removing checkpoints, and reading them by table, on a disk that does as
// it is told. What crashes do is in tests/launch/simulate/checkpoint_test.cpp.
#include "policies/checkpoint/catalog.hpp"

#include <cstring>

#include <gmock/gmock.h>

#include "launch/simulate/cluster/disk.hpp"
#include "tests/launch/simulate/checkpoint_job.hpp"
#include "tests/support/counting_storage.hpp"

namespace tidegate::policies {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct checkpoint_catalog_test : testing::Test {
  // A checkpoint by `shards` shards at `clock`, as the catalog numbers it.
  checkpoint_id write(checkpoint_catalog& into, std::uint64_t clock, std::uint32_t shards = 1,
                      std::uint32_t epoch = 1) {
    const auto id = into.begin(epoch);
    auto manifest = job.manifest(clock);
    manifest.id = id;
    const auto cut = job.cut(chance, std::min(shards, job.chunks()), clock);
    for (std::uint32_t i = 0; i < cut.size(); ++i) {
      auto writer =
          write_shard_file({.job = manifest.job, .id = id, .shard = i}, cut[i].chunks);
      EXPECT_TRUE(writer);
      const auto file = write_all(std::move(*writer), disk);
      EXPECT_TRUE(file);
      manifest.parts.push_back({i, *file, job.runs(cut[i])});
    }
    EXPECT_TRUE(write_all(*write_manifest(manifest), disk));
    into.add(id);
    return id;
  }
  std::optional<checkpoint_reader> newest() {
    findings.clear();
    checkpoint_catalog fresh(disk);
    auto found = fresh.newest(findings);
    EXPECT_TRUE(found) << found.error().message();
    return std::move(*found);
  }
  std::vector<std::string> files() { return *disk.list(); }
  // In place of a file.
  void replace(const std::string& name, const std::vector<std::byte>& bytes) {
    EXPECT_TRUE(disk.remove(name));
    EXPECT_TRUE(disk.create(name));
    EXPECT_TRUE(disk.append(name, bytes));
    EXPECT_TRUE(disk.close(name));
  }
  std::vector<std::byte> bytes_of(const std::string& name) {
    std::vector<std::byte> bytes(*disk.size(name));
    EXPECT_TRUE(disk.read(name, 0, bytes));
    return bytes;
  }

  sim::draws chance{7};
  sim::checkpoint_job job{chance};
  sim::disk machine{chance};
  sim::disk_view disk{machine};
  checkpoint_catalog catalog{disk};
  std::vector<std::string> findings;
};

TEST_F(checkpoint_catalog_test, an_empty_folder_has_none) {
  EXPECT_FALSE(newest());
  EXPECT_THAT(findings, IsEmpty());
  EXPECT_TRUE(catalog.tidy(1, 1));
}

TEST_F(checkpoint_catalog_test, the_newest_is_found_whoever_wrote_it) {
  for (std::uint32_t shards = 1; shards <= 4; ++shards) {
    write(catalog, shards * 10, shards);
    const auto found = newest();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->manifest().clock, shards * 10);
    EXPECT_EQ(job.compare(*found, disk, shards * 10), "");
  }
}

// Every file of a checkpoint, damaged in every way, is noticed, and said.
TEST_F(checkpoint_catalog_test, damage_is_noticed_and_the_one_before_is_used) {
  const auto old = write(catalog, 10, 2);
  const auto id = write(catalog, 20, 2);
  for (const auto& name : {manifest_name(id), shard_file_name(id, 0), shard_file_name(id, 1)}) {
    const auto bytes = bytes_of(name);
    auto other = bytes;
    other[other.size() / 2] ^= std::byte{1};
    auto flipped_last = bytes;
    flipped_last.back() ^= std::byte{0x80};
    auto longer = bytes;
    longer.push_back(std::byte{0});
    auto torn = bytes;
    std::fill(torn.begin() + static_cast<std::ptrdiff_t>(torn.size() / 2), torn.end(),
              std::byte{0});
    const std::vector<std::byte> shorter(bytes.begin(), bytes.end() - 1);
    for (const auto& damaged :
         {other, flipped_last, longer, torn, shorter, std::vector<std::byte>()}) {
      replace(name, damaged);
      const auto found = newest();
      ASSERT_TRUE(found) << name;
      EXPECT_EQ(found->manifest().id, old);
      EXPECT_EQ(job.compare(*found, disk, 10), "");
      ASSERT_EQ(findings.size(), 1U);
      EXPECT_THAT(findings[0], HasSubstr("checkpoint " + to_string(id) + " cannot be used"));
      EXPECT_THAT(findings[0], HasSubstr(name));
    }
    EXPECT_TRUE(disk.remove(name));
    EXPECT_EQ(newest()->manifest().id, old);
    EXPECT_TRUE(disk.create(name) && disk.append(name, bytes) && disk.close(name));
    EXPECT_EQ(newest()->manifest().id, id);
  }
}

TEST_F(checkpoint_catalog_test, a_file_of_another_checkpoint_in_its_place_is_noticed) {
  const auto old = write(catalog, 10);
  const auto id = write(catalog, 20);
  replace(manifest_name(id), bytes_of(manifest_name(old)));
  EXPECT_EQ(newest()->manifest().id, old);
  EXPECT_THAT(findings[0], HasSubstr("is the manifest of " + to_string(old)));
}

// Also by who compares no hashes.
TEST_F(checkpoint_catalog_test, a_shards_file_says_which_checkpoint_it_is_of) {
  const auto old = write(catalog, 10);
  const auto id = write(catalog, 20);
  auto manifest = newest()->manifest();
  EXPECT_TRUE(checkpoint_reader::open(disk, manifest));
  replace(shard_file_name(id, 0), bytes_of(shard_file_name(old, 0)));
  manifest.parts[0].file.bytes = *disk.size(shard_file_name(id, 0));
  const auto opened = checkpoint_reader::open(disk, manifest);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message(), HasSubstr("is another file than the manifest lists"));
}

TEST_F(checkpoint_catalog_test, keeps_as_many_as_it_should) {
  std::vector<checkpoint_id> ids;
  for (std::uint64_t clock = 1; clock <= 6; ++clock) {
    ids.push_back(write(catalog, clock));
    ASSERT_TRUE(catalog.tidy(3, 1));
    EXPECT_EQ(files().size(), 2 * std::min<std::size_t>(clock, 3));
  }
  EXPECT_THAT(files(), Contains(manifest_name(ids[3])));
  EXPECT_THAT(files(), Not(Contains(manifest_name(ids[2]))));
}

TEST_F(checkpoint_catalog_test, what_nobody_has_looked_at_protects_nothing_from_staying) {
  const auto first = write(catalog, 1);
  const auto second = write(catalog, 2);
  write(catalog, 3);
  checkpoint_catalog later(disk);
  ASSERT_TRUE(later.newest(findings));
  ASSERT_TRUE(later.tidy(2, 2));
  EXPECT_THAT(files(), Contains(manifest_name(first))) << "only the third is known to be whole";
  write(later, 4, 1, 2);
  ASSERT_TRUE(later.tidy(2, 2));
  EXPECT_THAT(files(), Not(Contains(manifest_name(first))));
  EXPECT_THAT(files(), Not(Contains(manifest_name(second))));
  EXPECT_EQ(files().size(), 4U);
}

TEST_F(checkpoint_catalog_test, removes_what_belongs_to_no_checkpoint_but_nothing_else) {
  const auto kept = write(catalog, 1);
  const auto make = [&](const std::string& name) {
    EXPECT_TRUE(disk.create(name) && disk.close(name));
  };
  const auto given_up = catalog.begin(1);
  make(shard_file_name(given_up, 0));
  make(shard_file_name(given_up, 1) + ".tmp");
  const auto now = catalog.begin(1);
  make(shard_file_name(now, 0));
  make(shard_file_name(now, 1) + ".tmp");
  const auto theirs = shard_file_name({2, now.number + 1}, 0) + ".tmp";
  make(theirs);
  make("notes.txt");
  ASSERT_TRUE(catalog.tidy(1, 1));
  EXPECT_THAT(files(), ElementsAre(shard_file_name(kept, 0), manifest_name(kept),
                                   shard_file_name(now, 0), shard_file_name(now, 1) + ".tmp",
                                   theirs, "notes.txt"));
}

// As a thread does that writes manifests, while the next round has begun.
TEST_F(checkpoint_catalog_test, a_copy_removes_nothing_that_was_begun_since) {
  const auto id = catalog.begin(1);
  auto copy = catalog;
  catalog.add(id);
  const auto next = catalog.begin(1);
  const std::vector<std::string> theirs{shard_file_name(next, 0),
                                        shard_file_name(next, 1) + ".tmp"};
  for (const auto& name : theirs) ASSERT_TRUE(disk.create(name) && disk.close(name));
  copy.add(id);
  ASSERT_TRUE(copy.tidy(1, 1));
  EXPECT_EQ(files(), theirs);
  const auto whole = write(catalog, 2);
  EXPECT_GT(whole, next);
  ASSERT_TRUE(copy.tidy(1, 1));
  EXPECT_THAT(files(), Contains(manifest_name(whole)));
}

TEST_F(checkpoint_catalog_test, numbers_are_never_used_again) {
  EXPECT_EQ(catalog.begin(1), (checkpoint_id{1, 1}));
  EXPECT_EQ(catalog.begin(1), (checkpoint_id{1, 2}));
  EXPECT_TRUE(disk.create(shard_file_name({1, 9}, 0) + ".tmp"));
  checkpoint_catalog later(disk);
  ASSERT_TRUE(later.newest(findings));
  EXPECT_EQ(later.begin(2), (checkpoint_id{2, 10}));
}

TEST_F(checkpoint_catalog_test, what_cannot_be_read_is_not_used) {
  write(catalog, 1);
  machine.faults.fail_read = 1;
  EXPECT_FALSE(newest());
  EXPECT_THAT(findings[0], HasSubstr("io_error"));
}

// A store of objects that cannot be reached, but for names.
class silent_store final : public tests::counting_storage {
 public:
  using counting_storage::counting_storage;
  runtime::expected<std::uint64_t> size(const std::string& name) override {
    if (why == runtime::errc::ok) return counting_storage::size(name);
    return runtime::fail(why, name + ": no answer");
  }
  bool vouches_for_bytes() const noexcept override { return true; }

  runtime::errc why = runtime::errc::ok;
};

TEST_F(checkpoint_catalog_test, what_a_store_does_not_hand_out_is_no_damage) {
  write(catalog, 10);
  const auto id = write(catalog, 20);
  std::map<std::string, tests::storage_counts> counts;
  silent_store store(disk, counts);
  checkpoint_catalog fresh(store);
  for (const auto why : {runtime::errc::unavailable, runtime::errc::refused}) {
    store.why = why;
    const auto found = fresh.newest(findings);
    ASSERT_FALSE(found) << "an older one would be no substitute";
    EXPECT_EQ(found.error().code(), why);
  }
  store.why = runtime::errc::ok;
  counts.clear();
  const auto found = fresh.newest(findings);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->manifest().id, id);
  const auto& file = (*found)->manifest().parts.front().file;
  EXPECT_LT(counts[file.name].bytes_read, file.bytes) << "which the store has looked at";
}

TEST_F(checkpoint_catalog_test, any_part_of_a_table_is_read) {
  write(catalog, 5, 4);
  const auto found = newest();
  ASSERT_TRUE(found);
  for (std::size_t t = 0; t < found->manifest().tables.size(); ++t) {
    const auto elements = found->manifest().tables[t].shape[0];
    std::vector<float> all(elements);
    ASSERT_TRUE(found->read(disk, t, 0, 0, all));
    for (std::uint64_t first = 0; first < elements; first += 3)
      for (std::uint64_t count = 1; first + count <= elements; count += 17) {
        std::vector<float> some(count);
        ASSERT_TRUE(found->read(disk, t, 0, first, some));
        ASSERT_EQ(std::memcmp(some.data(), all.data() + first, count * sizeof(float)), 0);
      }
    std::vector<float> beyond(elements + 1);
    EXPECT_DEATH((void)found->read(disk, t, 0, 0, beyond), "in the table");
  }
}

}  // namespace
}  // namespace tidegate::policies
