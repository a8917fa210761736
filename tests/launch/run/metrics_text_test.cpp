#include "launch/run/metrics_text.hpp"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

namespace tidegate::launch {
namespace {

using policies::process_role;
using testing::HasSubstr;
using testing::Not;

run_view one_job() {
  policies::job_status job;
  job.name = "mlp";
  job.policy = "ssp(3)";
  job.state = policies::job_state::running;
  job.workers = 2;
  job.workers_joined = 2;
  job.clocks_total = 400;
  job.restarts = 1;
  job.staleness = {5, 0, 2};
  job.loss = 0.5;
  job.metrics["test_accuracy"] = 0.75;
  job.members.resize(2);
  job.members[1].rank = 1;
  job.members[1].clock = 22;
  job.members[1].samples = 640;
  job.members[1].incarnation = 2;
  job.members[1].times = {
      .elapsed_ns = 10'000'000'000,
      .call_ns = 1'000'000'000,
      .wait_ns = 2'500'000'000,
      .pressure = {.stopped_ns = 250'000'000, .starved_ns = 125'000'000, .disk_faults = 9}};
  job.answers = {{.clocks = 44}, {.clocks = 44, .last = 40, .late_ns = 750'000'000}};
  job.members[1].arrivals = {.clocks = 21, .last = 20, .late_ns = 500'000'000};
  return {.cluster = "mine",
          .version = "1.2.3",
          .state = "running",
          .epoch = 2,
          .jobs = {{.status = job, .rates = {}}},
          .processes = {{.name = {process_role::worker, "mlp", 1},
                         .pid = 22,
                         .host = 1,
                         .incarnation = 2}},
          .hosts = {{.name = "", .state = "up"}, {.name = "blue", .state = "up"}},
          .waits = {{.waiter = "job mlp", .awaited = "worker-mlp-0", .seconds = 3}},
          .shards = {{},
                     {.elapsed_ns = 9'000'000'000,
                      .busy_ns = 4'500'000'000,
                      .bytes_in = 77,
                      .resident_bytes = 88,
                      .pushes_held = 3}},
          .replicas = {{.shard = 1,
                        .name = {process_role::replica, "", 1},
                        .times = {.elapsed_ns = 9'000'000'000,
                                  .busy_ns = 3'000'000'000,
                                  .bytes_in = 66,
                                  .resident_bytes = 99}}}};
}

TEST(metrics_text, has_what_the_launcher_knows) {
  const auto text = metrics_text(one_job(), exposition_format::prometheus);
  for (const auto* sample :
       {"tidegate_build_info{version=\"1.2.3\"} 1\n",
        "tidegate_run_info{cluster=\"mine\",state=\"running\"} 1\n",
        "tidegate_epoch 2\n",
        "tidegate_policy_info{job=\"mlp\",policy=\"ssp(3)\"} 1\n",
        "tidegate_job_state{job=\"mlp\",state=\"running\"} 1\n",
        "tidegate_job_state{job=\"mlp\",state=\"failed\"} 0\n",
        "tidegate_job_clocks_planned{job=\"mlp\"} 400\n",
        "tidegate_workers{job=\"mlp\",state=\"joined\"} 2\n",
        "tidegate_clock{job=\"mlp\",rank=\"0\"} 0\n",
        "tidegate_clock{job=\"mlp\",rank=\"1\"} 22\n",
        "tidegate_samples_total{job=\"mlp\",rank=\"1\"} 640\n",
        "tidegate_worker_seconds_total{job=\"mlp\",rank=\"1\",activity=\"computes\"} 6.5\n",
        "tidegate_worker_seconds_total{job=\"mlp\",rank=\"1\",activity=\"waits\"} 2.5\n",
        "tidegate_last_arrivals_total{job=\"mlp\",rank=\"1\"} 20\n",
        "tidegate_late_seconds_total{job=\"mlp\",rank=\"1\"} 0.5\n",
        "tidegate_worker_pressure_seconds_total{job=\"mlp\",rank=\"1\",kind=\"stopped\"} "
        "0.25\n",
        "tidegate_disk_faults_total{job=\"mlp\",rank=\"1\"} 9\n",
        "tidegate_shard_seconds_total{shard=\"1\",activity=\"busy\"} 4.5\n",
        "tidegate_shard_bytes_total{shard=\"1\",direction=\"in\"} 77\n",
        "tidegate_shard_resident_bytes{shard=\"1\"} 88\n",
        "tidegate_shard_pushes_held{shard=\"1\"} 3\n",
        "tidegate_replica_seconds_total{shard=\"1\",process=\"replica-1\",activity=\"busy\"} "
        "3\n",
        "tidegate_replica_bytes_total{shard=\"1\",process=\"replica-1\"} 66\n",
        "tidegate_replica_resident_bytes{shard=\"1\",process=\"replica-1\"} 99\n",
        "tidegate_last_answers_total{job=\"mlp\",shard=\"1\"} 40\n",
        "tidegate_late_answers_seconds_total{job=\"mlp\",shard=\"1\"} 0.75\n",
        "tidegate_reported{job=\"mlp\",name=\"test_accuracy\"} 0.75\n",
        "tidegate_worker_restarts_total{job=\"mlp\"} 1\n",
        "tidegate_pulled_chunks_total{job=\"mlp\",staleness=\"2\"} 2\n",
        "tidegate_process_incarnation{process=\"worker-mlp-1\",role=\"worker\",host=\"blue\"} "
        "2\n",
        "tidegate_host_info{host=\"blue\",state=\"up\"} 1\n",
        "tidegate_waits 1\n",
        "tidegate_longest_wait_seconds 3\n"})
    EXPECT_THAT(text, HasSubstr(sample));
}

TEST(metrics_text, says_nothing_where_nothing_is_known) {
  auto run = one_job();
  auto& job = run.jobs[0].status;
  auto text = metrics_text(run, exposition_format::prometheus);
  EXPECT_THAT(text, Not(HasSubstr("tidegate_samples_total{job=\"mlp\",rank=\"0\"}")))
      << "a coordinator that has come back knows less than the one before";
  EXPECT_THAT(text, Not(HasSubstr("tidegate_worker_seconds_total{job=\"mlp\",rank=\"0\"")));
  EXPECT_THAT(text, Not(HasSubstr("tidegate_loss{"))) << "nobody has reported one";
  EXPECT_THAT(text, Not(HasSubstr("tidegate_checkpoint_clock{")));
  EXPECT_THAT(text, Not(HasSubstr("tidegate_checkpoint_seconds{")));
  job.samples = 1;
  job.checkpoints = 1;
  job.checkpointing = {.count = 1, .late_ns = 250'000'000, .part_ns = 500'000'000};
  job.changes = {{.rank = 1, .clock = 7, .joins = false}};
  text = metrics_text(run, exposition_format::prometheus);
  EXPECT_THAT(text, HasSubstr("tidegate_loss{job=\"mlp\"} 0.5\n"));
  EXPECT_THAT(text, HasSubstr("tidegate_checkpoint_clock{job=\"mlp\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("tidegate_checkpoint_late_seconds_total{job=\"mlp\"} 0.25\n"));
  EXPECT_THAT(text, HasSubstr("tidegate_checkpoint_seconds{job=\"mlp\",part=\"shard\"} 0.5\n"));
  EXPECT_THAT(text, Not(HasSubstr("rank=\"1\""))) << "it has left";
  job.metrics["loss"] = 0.125;
  EXPECT_THAT(metrics_text(run, exposition_format::prometheus),
              HasSubstr("tidegate_loss{job=\"mlp\"} 0.125\n"));
}

TEST(metrics_text, is_whole_before_anything_is_known) {
  for (const auto format : {exposition_format::prometheus, exposition_format::openmetrics}) {
    const auto text = metrics_text({}, format);
    EXPECT_THAT(text, HasSubstr("# TYPE tidegate_clock gauge\n"));
    EXPECT_THAT(text, Not(HasSubstr("tidegate_clock{")));
    EXPECT_THAT(text, Not(HasSubstr("=\"\"")));
  }
}

TEST(metrics_text, is_documented_by_family) {
  std::ifstream docs(TIDEGATE_DOCS_DIR "/metrics.md");
  std::stringstream text;
  text << docs.rdbuf();
  EXPECT_THAT(text.str(), HasSubstr(metrics_reference()));
}

}  // namespace
}  // namespace tidegate::launch
