// What checkers of journals, memberships and checkpoints must see, done wrong once by hand.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "launch/simulate/cluster/checkpoint_checker.hpp"
#include "launch/simulate/cluster/journal_checker.hpp"
#include "launch/simulate/cluster/membership_checker.hpp"

namespace tidegate::sim {
namespace {

class records_checker : public testing::Test {
 protected:
  // The promise that was broken first, or nothing.
  std::string broken() const { return log.all().empty() ? "" : log.all().front().promise; }

  static policies::job_spec job_of(std::uint32_t workers) {
    policies::job_spec spec;
    spec.name = "job";
    spec.workers = workers;
    spec.consistency = {policies::consistency_kind::bsp, 0};
    return spec;
  }
  static policies::membership_change leaving(std::uint32_t rank, std::uint64_t clock) {
    return {.number = 1, .rank = rank, .clock = clock, .joins = false};
  }

  void record_worker(std::uint32_t rank, std::uint32_t incarnation) {
    policies::recorded_worker worker;
    worker.job = "job";
    worker.rank = rank;
    worker.joined = true;
    worker.incarnation = incarnation;
    journal.recorded(worker);
  }
  void record_table(const std::string& name) {
    policies::table_spec spec;
    spec.name = name;
    journal.recorded(policies::recorded_tables{.number = 0, .job = "job", .specs = {spec}});
  }

  violation_log log;
  membership_checker membership{log};
  journal_checker journal{log, membership};
  checkpoint_checker checkpoints{log};
};

TEST_F(records_checker, takes_an_incarnation_that_is_on_record) {
  record_worker(1, 2);
  journal.welcomed("job", 1, 2);
  EXPECT_EQ(broken(), "");
}

TEST_F(records_checker, sees_a_worker_let_in_that_is_not_on_record) {
  record_worker(1, 1);
  journal.welcomed("job", 1, 2);
  EXPECT_EQ(broken(), "journal");
}

TEST_F(records_checker, sees_a_table_given_another_number) {
  record_table("t");
  policies::table_grant grant;
  grant.name = "t";
  journal.granted("job", grant);
  EXPECT_EQ(broken(), "");
  grant.table = 1;
  journal.granted("job", grant);
  EXPECT_EQ(broken(), "journal");
}

TEST_F(records_checker, sees_an_end_that_is_not_on_record_unless_the_rank_has_left) {
  membership.changed("job", {leaving(1, 5)});
  journal.told_finished("job", 1);
  EXPECT_EQ(broken(), "");
  journal.told_finished("job", 0);
  EXPECT_EQ(broken(), "journal");
}

TEST_F(records_checker, forgets_the_journal_of_another_epoch) {
  record_worker(1, 1);
  journal.begin_epoch();
  journal.welcomed("job", 1, 1);
  EXPECT_EQ(broken(), "journal");
}

TEST_F(records_checker, sees_a_change_of_membership_forgotten) {
  membership.changed("job", {leaving(1, 5)});
  membership.changed("job", {});
  EXPECT_EQ(broken(), "who left");
}

TEST_F(records_checker, takes_a_mean_over_those_who_are_left) {
  membership.changed("job", {leaving(1, 5)});
  membership.check_contributors(job_of(2), {{.rank = 0, .clock = 4}, {.rank = 1, .clock = 4}},
                                2);
  membership.check_contributors(job_of(2), {{.rank = 0, .clock = 5}}, 1);
  EXPECT_EQ(broken(), "");
}

TEST_F(records_checker, sees_a_mean_that_counts_a_rank_that_left) {
  membership.changed("job", {leaving(1, 5)});
  membership.check_contributors(job_of(2), {{.rank = 0, .clock = 5}}, 2);
  EXPECT_EQ(broken(), "who left");
}

TEST_F(records_checker, sees_a_push_of_a_rank_that_left) {
  membership.changed("job", {leaving(1, 5)});
  membership.check_contributors(job_of(2), {{.rank = 1, .clock = 5}}, 1);
  EXPECT_EQ(broken(), "who left");
}

TEST_F(records_checker, sees_a_job_go_on_from_an_older_checkpoint) {
  policies::checkpoint_manifest manifest;
  manifest.job = "job";
  manifest.id = {.epoch = 1, .number = 2};
  checkpoints.kept(manifest);
  checkpoints.goes_on_from("job", manifest.id);
  EXPECT_EQ(broken(), "");
  checkpoints.goes_on_from("job", {.epoch = 1, .number = 1});
  EXPECT_EQ(broken(), "checkpoints");
}

TEST_F(records_checker, sees_checkpoints_whose_numbers_fall) {
  policies::checkpoint_manifest manifest;
  manifest.job = "job";
  manifest.id = {.epoch = 1, .number = 2};
  checkpoints.kept(manifest);
  checkpoints.kept(manifest);
  EXPECT_EQ(broken(), "epochs rise");
}

}  // namespace
}  // namespace tidegate::sim
