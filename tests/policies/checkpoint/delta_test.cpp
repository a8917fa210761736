// Checkpoints that have only the rows that have changed since another one, on a disk.
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "launch/simulate/cluster/disk.hpp"
#include "policies/checkpoint/catalog.hpp"
#include "policies/checkpoint/changed_rows.hpp"
#include "policies/checkpoint/writer.hpp"
#include "runtime/base/rng.hpp"

namespace tidegate::policies {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t dim = 3;
constexpr std::uint32_t state = 2;
constexpr std::uint32_t parts = 2;

struct row {
  std::uint64_t clock = 0;
  std::vector<float> values = std::vector<float>(dim);
  std::vector<float> states = std::vector<float>(state);
};
using rows = std::map<std::uint64_t, row>;  // of a part, by id

// The arrays of a part as a file has them.
struct part_arrays {
  part_arrays(const rows& all, std::uint64_t since) {
    for (const auto& [id, of] : all) {
      const std::uint64_t three[] = {id, of.clock, 1};
      const auto* const floats = reinterpret_cast<const float*>(three);
      numbers.insert(numbers.end(), floats, floats + 6);
      if (of.clock < since) continue;
      values.insert(values.end(), of.values.begin(), of.values.end());
      states.insert(states.end(), of.states.begin(), of.states.end());
    }
  }
  std::vector<float> values, states, numbers;
};

class checkpoint_delta_test : public testing::Test {
 protected:
  // Rows are pushed, made and erased in a clock.
  void step(std::uint64_t clock) {
    for (auto& part : table)
      for (std::size_t i = 0; i < 20; ++i) {
        const auto id = random.below(60);
        if (random.below(4) == 0) {
          part.erase(id);
          continue;
        }
        auto& of = part[id];
        of.clock = clock;
        for (auto& x : of.values) x = static_cast<float>(random.below(1000));
        for (auto& x : of.states) x = static_cast<float>(random.below(1000));
      }
  }

  chunk_description describe(std::uint32_t part, checkpoint_id base,
                             std::uint64_t since) const {
    chunk_description about;
    about.table = "user";
    about.shape = {parts};
    about.chunk = part;
    about.first = part;
    about.elements = 1;
    about.ranks = {{1, false}};
    about.rows = {.dim = dim, .capacity = 100};
    about.row_count = table[part].size();
    about.row_state = state;
    about.base = base;
    about.row_since = since;
    if (about.needs_base())
      for (const auto& [id, of] : table[part]) about.changed_count += of.clock >= since ? 1 : 0;
    return about;
  }

  // A checkpoint by one shard; a delta where it has a base.
  checkpoint_id write(checkpoint_id base = {}, std::uint64_t since = 0) {
    const auto id = catalog.begin(1);
    std::vector<chunk_image> images;
    std::vector<part_arrays> arrays;
    for (std::uint32_t part = 0; part < parts; ++part) arrays.emplace_back(table[part], since);
    for (std::uint32_t part = 0; part < parts; ++part)
      images.push_back({describe(part, base, since),
                        {arrays[part].values, arrays[part].states, arrays[part].numbers, {}}});
    const auto file =
        write_all(*write_shard_file({.job = "job", .id = id, .shard = 0}, images), disk);
    EXPECT_TRUE(file);
    checkpoint_manifest manifest;
    manifest.id = id;
    manifest.job = "job";
    manifest.workers = 1;
    manifest.tables = {{"user", {parts}, parts}};
    manifest.parts = {{0, *file, {{.table = 0, .first = 0, .count = parts}}}};
    manifest.base = base;
    EXPECT_TRUE(write_all(*write_manifest(manifest), disk));
    catalog.add(id, base);
    return id;
  }

  void expect_table(const checkpoint_reader& reader) {
    for (std::uint32_t part = 0; part < parts; ++part) {
      const part_arrays expected(table[part], 0);
      const std::vector<float>* const arrays[] = {&expected.values, &expected.states,
                                                  &expected.numbers};
      const auto& about = reader.chunks(0)[part].stored.about;
      for (std::size_t i = 0; i < 3; ++i) {
        std::vector<float> read(array_floats(about, i));
        const auto done = reader.read_part(disk, 0, part, i, read);
        ASSERT_TRUE(done.ok()) << done.message();
        ASSERT_EQ(read.size(), arrays[i]->size());
        EXPECT_EQ(std::memcmp(read.data(), arrays[i]->data(), read.size() * sizeof(float)), 0);
      }
    }
  }

  bool has(checkpoint_id id) {
    const auto names = *disk.list();
    return std::find(names.begin(), names.end(), manifest_name(id)) != names.end();
  }

  runtime::rng random{11};
  std::vector<rows> table = std::vector<rows>(parts);
  sim::draws chance{7};
  sim::disk machine{chance};
  sim::disk_view disk{machine};
  checkpoint_catalog catalog{disk};
};

TEST_F(checkpoint_delta_test, is_read_as_if_it_were_whole) {
  step(0);
  auto last = write();
  for (std::uint64_t clock = 1; clock < 12; ++clock) {
    const auto since = clock;
    step(clock);
    last = write(last, since);
    std::vector<std::string> findings;
    const auto newest = checkpoint_catalog(disk).newest(findings);
    ASSERT_TRUE(newest && *newest) << (findings.empty() ? "" : findings.front());
    EXPECT_EQ((*newest)->manifest().id, last);
    expect_table(**newest);
  }
}

TEST_F(checkpoint_delta_test, keeps_what_it_needs) {
  step(0);
  const auto whole = write();
  step(1);
  const auto first = write(whole, 1);
  step(2);
  const auto second = write(first, 2);
  ASSERT_TRUE(catalog.tidy(1, 1).ok());
  EXPECT_TRUE(has(whole) && has(first) && has(second));
  // As a catalog that has seen none of them does.
  checkpoint_catalog later(disk);
  std::vector<std::string> findings;
  ASSERT_TRUE(later.newest(findings));
  machine.faults.fail_read = 1;
  EXPECT_FALSE(later.tidy(1, 2).ok()) << "it cannot tell what is needed";
  machine.faults.fail_read = 0;
  ASSERT_TRUE(later.tidy(1, 2).ok());
  EXPECT_TRUE(has(whole) && has(first) && has(second));
  step(3);
  const auto next = write();
  ASSERT_TRUE(catalog.tidy(1, 1).ok());
  EXPECT_FALSE(has(whole) || has(first) || has(second));
  EXPECT_TRUE(has(next));
  EXPECT_EQ(disk.list()->size(), 2U);
}

TEST_F(checkpoint_delta_test, is_not_whole_without_what_it_needs) {
  step(0);
  const auto whole = write();
  step(1);
  const auto delta = write(whole, 1);
  const auto file = shard_file_name(whole, 0);
  std::vector<std::byte> bytes(*disk.size(file));
  ASSERT_TRUE(disk.read(file, 0, bytes));
  bytes.back() ^= std::byte{1};
  ASSERT_TRUE(disk.remove(file) && disk.create(file) && disk.append(file, bytes) &&
              disk.close(file));
  const auto damaged = catalog.verify(delta);
  ASSERT_FALSE(damaged);
  EXPECT_THAT(damaged.error().message(), HasSubstr(file + ": its bytes have changed"));
  ASSERT_TRUE(disk.remove(manifest_name(whole)));
  EXPECT_FALSE(catalog.verify(delta));
}

TEST_F(checkpoint_delta_test, a_read_that_fails_once_spoils_no_other_checkpoint) {
  step(0);
  auto last = write();
  for (std::uint64_t clock = 1; clock < 7; ++clock) {
    step(clock);
    last = write(last, clock);
  }
  // One of the seven can be read, wherever a read has failed.
  machine.faults.fail_read = 0.01;
  std::size_t failures = 0;
  for (int i = 0; i < 500; ++i) {
    std::vector<std::string> findings;
    const auto newest = checkpoint_catalog(disk).newest(findings);
    ASSERT_TRUE(newest && *newest) << findings.size() << " have failed";
    failures += findings.size();
  }
  EXPECT_GT(failures, 100U);
}

// As a crash in the middle of tidy() leaves it.
TEST_F(checkpoint_delta_test, what_lacks_its_base_holds_nothing_up) {
  step(0);
  const auto whole = write();
  step(1);
  write(whole, 1);
  step(2);
  const auto next = write();
  ASSERT_TRUE(disk.remove(manifest_name(whole)));
  checkpoint_catalog later(disk);
  std::vector<std::string> findings;
  ASSERT_TRUE(later.newest(findings));
  EXPECT_TRUE(later.tidy(3, 2).ok());
  EXPECT_TRUE(has(next));
}

TEST_F(checkpoint_delta_test, a_chain_has_an_end) {
  step(0);
  auto last = write();
  for (std::uint32_t i = 1; i < checkpoint_chain_max; ++i) last = write(last, i);
  EXPECT_TRUE(catalog.verify(last));
  last = write(last, checkpoint_chain_max);
  const auto longer = catalog.verify(last);
  ASSERT_FALSE(longer);
  EXPECT_THAT(longer.error().message(), HasSubstr("needs more than 99 others"));
}

TEST_F(checkpoint_delta_test, of_another_checkpoint_is_noticed) {
  step(0);
  const auto whole = write();
  // A row that has changed in clock 1 is missing.
  auto& changed = table[0].begin()->second;
  changed.clock = 1;
  changed.values[0] += 1;
  const auto late = write(whole, 2);
  const auto reader = catalog.verify(late);
  ASSERT_TRUE(reader) << reader.error().message();
  std::vector<float> values(array_floats(reader->chunks(0)[0].stored.about, 0));
  const auto read = reader->read_part(disk, 0, 0, 0, values);
  EXPECT_EQ(read.code(), runtime::errc::corrupt);
  EXPECT_THAT(read.message(),
              HasSubstr("has not changed, and the checkpoint before has another"));
  // More rows than the other has.
  for (std::uint64_t id = 100; id < 200; ++id) table[0][id].clock = 1;
  const auto more = catalog.verify(write(whole, 2));
  ASSERT_FALSE(more);
  EXPECT_THAT(more.error().message(), HasSubstr("which has no part that fits"));
}

TEST(changed_rows, says_what_does_not_fit) {
  const rows before{{1, {.clock = 0}}, {5, {.clock = 3}}};
  const rows stale{{1, {.clock = 0}}, {5, {.clock = 4}}};
  const rows now{{1, {.clock = 0}}, {5, {.clock = 9}}, {7, {.clock = 8}}};
  const part_arrays base(before, 0);
  const part_arrays changed(now, 8);
  std::vector<float> into(now.size() * dim);
  const auto merge = [&](std::span<const float> values, std::uint64_t since) {
    return merge_changed({changed.numbers, values}, since, {base.numbers, base.values}, dim,
                         into);
  };
  EXPECT_TRUE(merge(changed.values, 8).ok());
  EXPECT_THAT(merge(changed.values, 0).message(), HasSubstr("more rows have changed"));
  EXPECT_THAT(merge(changed.values, 9).message(), HasSubstr("row 7 has not changed"));
  const part_arrays other(stale, 0);
  const part_arrays kept(before, 9);
  std::vector<float> two(before.size() * dim);
  const auto wrong =
      merge_changed({kept.numbers, {}}, 9, {other.numbers, other.values}, dim, two);
  EXPECT_THAT(wrong.message(), HasSubstr("the checkpoint before has another"));
  auto longer = changed.values;
  longer.resize(longer.size() + dim);
  EXPECT_THAT(merge(longer, 8).message(), HasSubstr("fewer rows have changed"));
}

}  // namespace
}  // namespace tidegate::policies
