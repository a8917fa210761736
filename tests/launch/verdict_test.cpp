#include "launch/verdict.hpp"

#include <signal.h>

#include <gtest/gtest.h>

namespace tidegate::launch {
namespace {

using policies::job_state;

std::vector<policies::job_status> job_in(job_state state) {
  policies::job_status job;
  job.name = "mlp";
  job.state = state;
  return {job};
}

process_end worker(bool by_signal, int code) {
  return {{process_role::worker, "mlp", 2}, 47, by_signal, code};
}

TEST(verdict, of_a_worker) {
  const auto exit_0 = worker(false, 0);
  const auto exit_1 = worker(false, 1);
  const auto killed = worker(true, SIGKILL);
  for (const auto state :
       {job_state::waiting, job_state::running, job_state::done, job_state::failed}) {
    EXPECT_EQ(judge(exit_0, job_in(state)), verdict::as_expected);
  }
  EXPECT_EQ(judge(exit_1, job_in(job_state::waiting)), verdict::process_died);
  EXPECT_EQ(judge(exit_1, job_in(job_state::running)), verdict::process_died);
  EXPECT_EQ(judge(exit_1, job_in(job_state::failed)), verdict::job_failed);
  EXPECT_EQ(judge(exit_1, job_in(job_state::done)), verdict::after_its_job);
  EXPECT_EQ(judge(killed, job_in(job_state::running)), verdict::process_died);
  EXPECT_EQ(judge(killed, job_in(job_state::failed)), verdict::process_died);
  EXPECT_EQ(judge(killed, job_in(job_state::done)), verdict::after_its_job);
  EXPECT_EQ(judge(exit_1, {}), verdict::process_died)
      << "the coordinator has not said anything";
}

TEST(verdict, of_a_node_is_death_however_it_ends) {
  for (const auto role : {process_role::coordinator, process_role::shard}) {
    EXPECT_EQ(judge({{role, "", 0}, 1, false, 0}, job_in(job_state::done)),
              verdict::process_died);
    EXPECT_EQ(judge({{role, "", 0}, 1, true, SIGSEGV}, {}), verdict::process_died);
  }
}

TEST(verdict, text_names_the_process_and_how_it_ended) {
  EXPECT_EQ(to_string(worker(true, SIGKILL)),
            "worker 2 of job mlp (pid 47) was killed by SIGKILL");
  EXPECT_EQ(to_string({{process_role::shard, "", 1}, 9, false, 1}),
            "shard 1 (pid 9) exited with status 1");
  EXPECT_EQ(to_string(worker(true, 63)),
            "worker 2 of job mlp (pid 47) was killed by signal 63");
}

TEST(jobs, are_all_done_or_the_first_failed) {
  auto jobs = job_in(job_state::done);
  EXPECT_TRUE(all_done(jobs));
  EXPECT_EQ(first_failed(jobs), nullptr);
  jobs.push_back(job_in(job_state::failed)[0]);
  EXPECT_FALSE(all_done(jobs));
  EXPECT_EQ(first_failed(jobs), &jobs[1]);
  EXPECT_FALSE(all_done({}));
  EXPECT_EQ(find_job(jobs, "other"), nullptr);
}

}  // namespace
}  // namespace tidegate::launch
