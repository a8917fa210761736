// Who may write checkpoints into a folder that outlives run folders.
#include "policies/checkpoint/claim.hpp"

#include <limits>

#include <gmock/gmock.h>

#include "launch/simulate/cluster/disk.hpp"
#include "policies/checkpoint/fit.hpp"
#include "policies/checkpoint/name.hpp"
#include "policies/checkpoint/run_epoch.hpp"
#include "tests/launch/simulate/checkpoint_job.hpp"

namespace tidegate::policies {
namespace {

using runtime::errc;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* own = "00c0ffee00c0ffee";
constexpr const char* other = "0123456789abcdef";

struct checkpoint_claim_test : testing::Test {
  claim_remains found() {
    const auto remains = read_claims(record, checkpoints);
    EXPECT_TRUE(remains) << remains.error().message();
    return *remains;
  }
  runtime::status may(claim_wish wish, std::string_view run = own) {
    return check_claim(found(), wish, run, "mlp", "/shared/mlp");
  }
  void write(const std::string& name) {
    EXPECT_TRUE(checkpoints.create(name).ok());
    EXPECT_TRUE(checkpoints.close(name).ok());
  }

  sim::draws chance{7};
  sim::disk of_record{chance}, of_checkpoints{chance};
  sim::disk_view record{of_record}, checkpoints{of_checkpoints};
};

TEST_F(checkpoint_claim_test, an_empty_folder_is_anybodys) {
  for (const auto wish : {claim_wish::begin, claim_wish::go_on, claim_wish::resume})
    EXPECT_TRUE(may(wish).ok());
  EXPECT_EQ(found().last_epoch, 0U);
}

TEST_F(checkpoint_claim_test, another_runs_folder_is_taken_only_by_who_says_so) {
  ASSERT_TRUE(claim_epoch(record, 3).ok());
  ASSERT_TRUE(record_run(record, other, "cluster c, run folder /r on blue").ok());
  const auto begins = may(claim_wish::begin);
  EXPECT_EQ(begins.code(), errc::already_exists);
  EXPECT_THAT(begins.message(), HasSubstr("/shared/mlp belongs to another run (cluster "
                                          "c, run folder /r on blue): go on from its "));
  const auto resumes = may(claim_wish::resume);
  EXPECT_EQ(resumes.code(), errc::already_exists);
  EXPECT_THAT(resumes.message(), HasSubstr("another run has gone on from the checkpoints"));
  EXPECT_TRUE(may(claim_wish::resume, other).ok());
  EXPECT_TRUE(may(claim_wish::go_on).ok());
  ASSERT_TRUE(record_run(record, own, "").ok());
  EXPECT_THAT(found().runs, ElementsAre(own));
  EXPECT_FALSE(may(claim_wish::resume, other).ok()) << "it is not the folder's run any more";
}

TEST_F(checkpoint_claim_test, checkpoints_without_a_record_are_another_runs) {
  write("e0004-00000002-s0000.safetensors");
  EXPECT_TRUE(may(claim_wish::begin).ok()) << "no checkpoint without a manifest";
  EXPECT_EQ(found().last_epoch, 4U) << "nobody writes files of this name once more";
  write("e0004-00000002.manifest.tmp");
  EXPECT_TRUE(may(claim_wish::begin).ok());
  write("e0004-00000001.manifest");
  EXPECT_FALSE(may(claim_wish::begin).ok());
  EXPECT_TRUE(may(claim_wish::go_on).ok());
}

TEST_F(checkpoint_claim_test, while_a_launcher_lives_nobody_else_may) {
  auto remains = found();
  remains.has_launcher = true;
  remains.runs = {own};
  for (const auto wish : {claim_wish::begin, claim_wish::go_on, claim_wish::resume}) {
    const auto refused = check_claim(remains, wish, own, "mlp", "/shared/mlp");
    EXPECT_EQ(refused.code(), errc::already_exists);
    EXPECT_THAT(refused.message(), HasSubstr("a launcher that lives writes checkpoints there"));
  }
}

TEST_F(checkpoint_claim_test, epochs_do_not_wrap) {
  auto remains = found();
  remains.last_epoch = std::numeric_limits<std::uint32_t>::max();
  EXPECT_EQ(check_claim(remains, claim_wish::go_on, own, "mlp", "f").code(), errc::over_limit);
}

TEST_F(checkpoint_claim_test, no_two_launchers_have_one_epoch) {
  sim::disk_view of_another(of_record);
  ASSERT_TRUE(claim_epoch(record, 1).ok());
  EXPECT_EQ(claim_epoch(of_another, 1).code(), errc::already_exists);
  EXPECT_TRUE(check_epoch(record, 1, "/shared/mlp").ok());
  ASSERT_TRUE(claim_epoch(of_another, 2).ok());
  EXPECT_EQ(*last_epoch(record), 2U);
  const auto lost = check_epoch(record, 1, "/shared/mlp");
  EXPECT_EQ(lost.code(), errc::refused);
  EXPECT_THAT(lost.message(), HasSubstr("another launcher has gone on with the checkpoints "
                                        "there, in epoch 2, and this run is in epoch 1"));
  EXPECT_THAT(*record.list(), ElementsAre("epoch-0002"));
}

// Whatever crashes: an epoch that was claimed is on record, and none is claimed twice.
TEST_F(checkpoint_claim_test, an_epoch_that_was_claimed_stays) {
  for (std::uint64_t calls = 1; calls < 10; ++calls) {
    sim::draws draw(calls);
    sim::disk disk(draw);
    sim::disk_view before(disk);
    ASSERT_TRUE(claim_epoch(before, 1).ok());
    disk.turn_off_after(calls);
    const bool was_claimed = claim_epoch(before, 2).ok();
    disk.turn_on();
    disk.crash();
    sim::disk_view after(disk);
    const auto last = *last_epoch(after);
    EXPECT_GE(last, was_claimed ? 2U : 1U) << calls;
    EXPECT_TRUE(claim_epoch(after, last + 1).ok()) << calls;
  }
}

TEST_F(checkpoint_claim_test, a_run_is_on_record_whatever_crashes) {
  for (std::uint64_t calls = 1; calls < 16; ++calls) {
    sim::draws draw(calls);
    sim::disk disk(draw);
    sim::disk_view before(disk);
    ASSERT_TRUE(record_run(before, other, "other").ok());
    disk.turn_off_after(calls);
    const bool was_recorded = record_run(before, own, "own").ok();
    disk.turn_on();
    disk.crash();
    sim::disk_view after(disk);
    const auto remains = read_claims(after, checkpoints);
    ASSERT_TRUE(remains);
    if (was_recorded) {
      EXPECT_THAT(remains->runs, ElementsAre(own)) << calls;
      EXPECT_EQ(remains->described, "own");
    } else {
      EXPECT_FALSE(remains->runs.empty()) << calls;
    }
    ASSERT_TRUE(record_run(after, own, "own").ok()) << calls;
    EXPECT_THAT(read_claims(after, checkpoints)->runs, ElementsAre(own)) << calls;
  }
}

TEST_F(checkpoint_claim_test, files_of_the_record_are_replaced_whatever_a_crash_has_left) {
  ASSERT_TRUE(record.create("cluster.yaml.tmp").ok());
  ASSERT_TRUE(record.close("cluster.yaml.tmp").ok());
  ASSERT_TRUE(replace_file(record, "cluster.yaml", "one").ok());
  ASSERT_TRUE(replace_file(record, "cluster.yaml", "two two").ok());
  EXPECT_EQ(*record.size("cluster.yaml"), 7U);
  EXPECT_THAT(*record.list(), ElementsAre("cluster.yaml"));
  EXPECT_THAT(found().runs, IsEmpty());
}

TEST_F(checkpoint_claim_test, folders_are_those_that_jobs_name) {
  cluster_spec cluster;
  for (const char* name : {"a", "b", "c"}) cluster.jobs.emplace_back().name = name;
  cluster.jobs[0].checkpoint.emplace();
  cluster.jobs[1].checkpoint.emplace().path = "/shared";
  EXPECT_THAT(
      checkpoint_folders(cluster, "/run"),
      ElementsAre(testing::Pair("a", "/run/checkpoints/a"), testing::Pair("b", "/shared/b")));
  EXPECT_EQ(claim_folder("/shared/b"), "/shared/b/run");
}

TEST_F(checkpoint_claim_test, a_job_that_has_changed_does_not_fit_its_checkpoint) {
  sim::checkpoint_job kept(chance);
  auto manifest = kept.manifest(4);
  manifest.id = {.epoch = 1, .number = 1};
  const auto cut = kept.cut(chance, 1, 4);
  auto writer =
      write_shard_file({.job = manifest.job, .id = manifest.id, .shard = 0}, cut[0].chunks);
  const auto file = write_all(std::move(*writer), checkpoints);
  ASSERT_TRUE(file);
  manifest.parts.push_back({0, *file, kept.runs(cut[0])});
  const auto from = checkpoint_reader::open(checkpoints, manifest);
  ASSERT_TRUE(from) << from.error().message();
  job_spec job;
  job.name = manifest.job;
  job.workers = manifest.workers;
  job.seed = manifest.seed;
  job.consistency = manifest.consistency;
  EXPECT_TRUE(check_fit(*from, job).ok());
  auto changed = job;
  ++changed.workers;
  EXPECT_THAT(check_fit(*from, changed).message(), HasSubstr("has room for"));
  changed = job;
  changed.consistency.kind = job.consistency.kind == consistency_kind::bsp
                                 ? consistency_kind::async
                                 : consistency_kind::bsp;
  EXPECT_THAT(check_fit(*from, changed).message(), HasSubstr("is of another policy"));
}

}  // namespace
}  // namespace tidegate::policies
