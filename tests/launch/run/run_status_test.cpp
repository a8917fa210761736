#include "launch/run/run_status.hpp"

#include <limits>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "launch/run/result.hpp"

namespace tidegate::launch {
namespace {

using policies::job_state;
using policies::process_role;
using testing::HasSubstr;

run_view two_jobs() {
  policies::job_status mlp;
  mlp.name = "mlp";
  mlp.policy = "bsp";
  mlp.state = job_state::running;
  mlp.workers = 3;
  mlp.workers_joined = 3;
  mlp.clock_slowest = 22;
  mlp.clock_fastest = 24;
  mlp.clocks_total = 400;
  mlp.restarts = 1;
  mlp.loss = 0.25;
  mlp.samples = 1000;
  mlp.seconds = 10;
  policies::job_status other;
  other.name = "other";
  other.policy = "async";
  other.state = job_state::failed;
  other.failure = "it has NaN";
  other.metrics["loss"] = std::numeric_limits<double>::quiet_NaN();
  return {.cluster = "mine",
          .state = "running",
          .jobs = {{.status = mlp, .rates = {}}, {.status = other, .rates = {}}},
          .processes = {{.name = {process_role::shard, "", 0}, .pid = 11},
                        {.name = {process_role::worker, "mlp", 2},
                         .pid = 22,
                         .host = 1,
                         .incarnation = 2}},
          .hosts = {{.name = "", .state = "up"},
                    {.name = "blue", .state = "lost"},
                    {.name = "red", .state = "up"},
                    {.name = "green", .state = "starting"}},
          .waits = {{.waiter = "job mlp", .awaited = "worker-mlp-2", .seconds = 3}}};
}

// Reports of workers are of other moments.
TEST(status_line, shows_no_worker_that_runs_behind_the_slowest) {
  auto run = two_jobs();
  run.jobs[0].status.members = {{.rank = 0, .joined = true, .clock = 24},
                                {.rank = 1, .joined = true, .clock = 7},
                                {.rank = 2, .joined = false, .clock = 8},
                                {.rank = 3, .joined = true, .finished = true, .clock = 9}};
  const auto members = nlohmann::json::parse(status_line(run))["jobs"][0]["members"];
  EXPECT_EQ(members[0]["clock"], 24);
  EXPECT_EQ(members[1]["clock"], 22);
  EXPECT_EQ(members[2]["clock"], 8) << "its process is not there";
  EXPECT_EQ(members[3]["clock"], 9);
}

TEST(status_line, is_one_line_of_json) {
  auto run = two_jobs();
  run.jobs[1].status.failure = "two\nlines \xff";
  const auto line = status_line(run);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto all = nlohmann::json::parse(line);
  EXPECT_EQ(all["state"], "running");
  EXPECT_EQ(all["jobs"][0]["clock_fastest"], 24);
  EXPECT_EQ(all["jobs"][0]["clocks_total"], 400);
  EXPECT_EQ(all["jobs"][1]["clocks_total"], nullptr);
  EXPECT_EQ(all["jobs"][1]["loss"], nullptr);
  EXPECT_EQ(all["processes"][0]["host"], nullptr);
  EXPECT_EQ(all["processes"][1],
            nlohmann::json::parse(
                R"({"name": "worker-mlp-2", "pid": 22, "host": "blue", "incarnation": 2})"));
  EXPECT_EQ(all["hosts"].size(), 3U);
  EXPECT_EQ(all["hosts"][0], nlohmann::json::parse(R"({"name": "blue", "state": "lost"})"));
  EXPECT_EQ(all["waits"][0]["awaited"], "worker-mlp-2");
}

TEST(status_text, says_how_a_run_goes_on) {
  const auto text = status_text(status_line(two_jobs()));
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_EQ(
      *text,
      "cluster mine is running\n"
      "\n"
      "job    policy  state    clock          workers  restarts    loss  samples/s  time\n"
      "mlp    bsp     running  22..24 of 400  3 of 3          1  0.2500        100   10s\n"
      "other  async   failed   0              0 of 0          0       -          -    0s\n"
      "job other: it has NaN\n"
      "\n"
      "process       host  pid  incarnation\n"
      "shard-0       -      11            1\n"
      "worker-mlp-2  blue   22            2\n"
      "host blue is lost\n"
      "host green is starting\n"
      "job mlp has waited 3s for worker-mlp-2\n");
}

TEST(status_text, says_where_the_time_of_workers_goes) {
  auto run = two_jobs();
  auto& job = run.jobs[0];
  job.status.members = {{.rank = 0, .incarnation = 1, .clock = 22},
                        {.rank = 2, .incarnation = 2, .clock = 24}};
  job.rates = {.seconds = 5,
               .clocks_per_second = 20,
               .samples_per_second = 640,
               .workers = {{.rank = 0,
                            .clocks_per_second = 20,
                            .samples_per_second = 320,
                            .computes = 0.4,
                            .calls = 0.01,
                            .waits = 0.59},
                           {.rank = 2,
                            .clocks = 100,
                            .clocks_per_second = 20,
                            .samples_per_second = 320,
                            .computes = 0.98,
                            .calls = 0.01,
                            .waits = 0.01,
                            .comes_last = 1,
                            .late_seconds = 0.0299,
                            .late = 2.99}}};
  EXPECT_THAT(
      status_text(status_line(run)).value(),
      HasSubstr(
          "job  rank  clock  clocks/s  samples/s  computes  calls  waits  comes last     late\n"
          "mlp     0     22      20.0        320       40%     1%    59%          0%   0.0 ms\n"
          "mlp     2     24      20.0        320       98%     1%     1%        100%  29.9 "
          "ms\n"));
}

TEST(status_text, says_how_a_run_has_ended) {
  std::vector<policies::job_status> jobs;
  for (const auto& job : two_jobs().jobs) jobs.push_back(job.status);
  jobs[0].state = job_state::done;
  jobs[0].clock_slowest = 400;
  const auto line = status_of_result(result_json("mine", jobs, 1));
  ASSERT_TRUE(line) << line.error().message();
  EXPECT_EQ(line->find('\n'), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(*line)["state"], "ended");
  EXPECT_FALSE(status_of_result(status_line(two_jobs())));
  const auto text = status_text(*line);
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_THAT(*text, HasSubstr("cluster mine has ended, exit code 1\n"));
  EXPECT_THAT(*text, HasSubstr("mlp    bsp     done    400    -"));
  EXPECT_THAT(*text, HasSubstr("job other: it has NaN\n"));
}

TEST(status_text, refuses_what_is_no_status) {
  for (const auto* other : {"", "{", "[]", "{}", R"({"jobs": 1})", "error no"})
    EXPECT_FALSE(status_text(other)) << other;
  EXPECT_TRUE(status_text(R"({"jobs": []})"));
}

}  // namespace
}  // namespace tidegate::launch
