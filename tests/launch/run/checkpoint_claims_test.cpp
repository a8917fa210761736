#include "launch/run/checkpoint_claims.hpp"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "launch/text/files.hpp"

namespace tidegate::launch {
namespace {

namespace fs = std::filesystem;
using policies::claim_wish;
using runtime::errc;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* own = "00c0ffee00c0ffee";

class checkpoint_claims_test : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "claims_XXXXXX";
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    fs::create_directory(folder_ + "/shared");
    for (const char* name : {"a", "b"}) {
      auto& job = spec.jobs.emplace_back();
      job.name = name;
      job.checkpoint.emplace().path = folder_ + "/shared";
    }
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string of(const std::string& job) const { return folder_ + "/shared/" + job; }
  // A run that has begun and ended.
  void run_once(const std::string& run, std::uint32_t epoch) {
    auto claims = checkpoint_claims::open(spec, claim_wish::go_on, run);
    ASSERT_TRUE(claims) << claims.error().message();
    ASSERT_TRUE(claims->record_epoch(epoch).ok());
    ASSERT_TRUE(claims->record_run({{"cluster.yaml", "text"}}, "described").ok());
  }

  std::string folder_;
  policies::cluster_spec spec;
};

TEST_F(checkpoint_claims_test, belong_to_one_launcher_at_a_time) {
  {
    const auto first = checkpoint_claims::open(spec, claim_wish::begin, own);
    ASSERT_TRUE(first) << first.error().message();
    const auto second = checkpoint_claims::open(spec, claim_wish::go_on, own);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code(), errc::already_exists);
    EXPECT_THAT(second.error().message(), HasSubstr("a launcher that lives"));
  }
  EXPECT_TRUE(checkpoint_claims::open(spec, claim_wish::go_on, own));
}

TEST_F(checkpoint_claims_test, are_none_where_no_job_names_a_folder) {
  for (auto& job : spec.jobs) job.checkpoint->path.clear();
  auto claims = checkpoint_claims::open(spec, claim_wish::begin, own);
  ASSERT_TRUE(claims);
  EXPECT_TRUE(claims->is_empty());
  EXPECT_EQ(claims->run(), "");
  EXPECT_EQ(claims->last_epoch(), 0U);
  EXPECT_TRUE(claims->record_epoch(1).ok());
}

TEST_F(checkpoint_claims_test, say_why_a_folder_cannot_be_had) {
  spec.jobs[1].checkpoint->path = folder_ + "/none";
  const auto missing = checkpoint_claims::open(spec, claim_wish::begin, own);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), errc::not_found);
  EXPECT_THAT(missing.error().message(), HasSubstr("jobs.b.checkpoint.path: "));
  EXPECT_FALSE(fs::exists(folder_ + "/none")) << "a disk that is not mounted";
  std::ofstream(folder_ + "/none") << "x";
  EXPECT_THAT(checkpoint_claims::open(spec, claim_wish::begin, own).error().message(),
              HasSubstr("is no folder"));
  spec.jobs[1].checkpoint->path = folder_ + "/shared";
  std::ofstream(of("b")) << "x";
  EXPECT_FALSE(checkpoint_claims::open(spec, claim_wish::begin, own));
}

TEST_F(checkpoint_claims_test, grow_in_epochs_across_runs_and_jobs) {
  run_once(own, 4);
  spec.jobs.pop_back();
  run_once("00000000000000aa", 6);
  spec.jobs.push_back(spec.jobs.front());
  spec.jobs.back().name = "b";
  auto claims = checkpoint_claims::open(spec, claim_wish::go_on, "00000000000000bb");
  ASSERT_TRUE(claims) << claims.error().message();
  EXPECT_EQ(claims->last_epoch(), 6U) << "the highest of all";
  ASSERT_TRUE(claims->record_epoch(7).ok());
  for (const char* job : {"a", "b"}) EXPECT_TRUE(fs::exists(of(job) + "/run/epoch-0007"));
  EXPECT_TRUE(claims->record_epoch(8).ok());
}

TEST_F(checkpoint_claims_test, are_lost_to_who_has_a_higher_epoch) {
  auto claims = checkpoint_claims::open(spec, claim_wish::begin, own);
  ASSERT_TRUE(claims && claims->record_epoch(1).ok());
  std::ofstream(of("b") + "/run/epoch-0002") << "of another launcher";
  const auto lost = claims->record_epoch(3);
  EXPECT_EQ(lost.code(), errc::refused);
  EXPECT_THAT(lost.message(), HasSubstr(of("b")));
}

TEST_F(checkpoint_claims_test, are_the_runs_that_was_there_last) {
  run_once(own, 1);
  EXPECT_FALSE(checkpoint_claims::open(spec, claim_wish::begin, "00000000000000aa"));
  EXPECT_TRUE(checkpoint_claims::open(spec, claim_wish::resume, own));
  run_once("00000000000000aa", 2);
  EXPECT_FALSE(checkpoint_claims::open(spec, claim_wish::resume, own));
  EXPECT_EQ(*read_file(of("a") + "/run/cluster.yaml"), "text");
  const auto claims = checkpoint_claims::open(spec, claim_wish::go_on, own);
  ASSERT_TRUE(claims && claims->record_run({{"cluster.yaml", ""}}, "").ok());
  EXPECT_FALSE(fs::exists(of("a") + "/run/cluster.yaml")) << "the run has none";
  EXPECT_EQ(fs::status(of("a") + "/run").permissions(), fs::perms::owner_all);
}

TEST_F(checkpoint_claims_test, remember_cancelled_jobs) {
  auto claims = checkpoint_claims::open(spec, claim_wish::begin, own);
  ASSERT_TRUE(claims && claims->record_cancelled("c").ok());
  EXPECT_THAT(*claims->cancelled_jobs(), ElementsAre("c"));
}

TEST_F(checkpoint_claims_test, are_linked_into_the_run_folder) {
  const auto claims = checkpoint_claims::open(spec, claim_wish::begin, own);
  ASSERT_TRUE(claims);
  EXPECT_TRUE(claims->link_in(folder_ + "/r").ok());
  EXPECT_TRUE(claims->link_in(folder_ + "/r").ok()) << "once more";
  EXPECT_EQ(fs::read_symlink(folder_ + "/r/checkpoints/a"), of("a"));
}

}  // namespace
}  // namespace tidegate::launch
