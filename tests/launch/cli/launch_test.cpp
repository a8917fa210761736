// `tidegate launch` from start to end, on the fake cluster.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <signal.h>

#include <gmock/gmock.h>

#include "runtime/process/process_stat.hpp"
#include "tests/launch/cli/launched.hpp"

namespace tidegate::launch {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr double end_seconds_max = 2.5;  // the promised two, and a slow machine

std::vector<int> pids_of(const nlohmann::json& processes) {
  std::vector<int> all;
  for (const auto& p : processes) all.push_back(p["pid"]);
  return all;
}

int pid_of(const nlohmann::json& processes, const std::string& role, int index) {
  for (const auto& p : processes) {
    if (p["role"] == role && p["index"] == index) return p["pid"];
  }
  return -1;
}

void expect_all_dead(const std::vector<int>& pids) {
  for (const int pid : pids) EXPECT_FALSE(is_alive(pid)) << pid;
}

TEST(launch, runs_a_job_to_its_end) {
  launched run(fake_yaml(2, fake_job("mlp", 3, "done")));
  EXPECT_EQ(run.wait(), 0) << run.output();
  EXPECT_THAT(run.output(), AllOf(HasSubstr("cluster t: 6 processes"), HasSubstr("mlp"),
                                  HasSubstr("test_accuracy 0.9"),
                                  HasSubstr("  " + std::string(12, 'a') + "\n")));
  const auto result = run.read_json("result.json");
  EXPECT_EQ(result["cluster"], "t");
  EXPECT_EQ(result["exit_code"], 0);
  const auto& job = result["jobs"][0];
  EXPECT_EQ(job["name"], "mlp");
  EXPECT_EQ(job["policy"], "bsp");
  EXPECT_EQ(job["state"], "done");
  EXPECT_EQ(job["test_accuracy"], 0.9);
  EXPECT_EQ(job["loss"], 0.25);
  EXPECT_EQ(job["samples_per_second"], 500);
  EXPECT_EQ(job["metrics"], (nlohmann::json{{"f1", 0.5}}));
}

TEST(launch, fills_its_run_folder) {
  launched run(fake_yaml(1, fake_job("mlp", 2, "done")));
  EXPECT_EQ(run.wait(), 0) << run.output();
  EXPECT_THAT(run.read("cluster.yaml"), HasSubstr("chunk_bytes: 256KiB"));
  EXPECT_EQ(run.read_json("origin.json")["folder"], std::filesystem::current_path().string());
  EXPECT_THAT(run.read("plan.txt"), HasSubstr("job mlp: 2 workers, bsp"));
  EXPECT_EQ(run.read_json("plan.json")["processes"].size(), 4U);
  EXPECT_EQ(run.read_json("pids.json"), nlohmann::json::array());
  EXPECT_THAT(run.read("logs/worker-mlp-1.log"), HasSubstr("line 11 of rank 1"));
  for (const auto* log :
       {"logs/coordinator-0.log", "logs/shard-0.log", "logs/worker-mlp-0.log"}) {
    EXPECT_TRUE(std::filesystem::exists(run.path(log))) << log;
  }
  const auto events = run.read("events.jsonl");
  for (const auto* subject :
       {"launched", "process_started", "fake_event", "process_ended", "run_ended"}) {
    EXPECT_THAT(events, HasSubstr("\"kind\":\"" + std::string(subject) + "\""));
  }
}

TEST(launch, lists_the_processes_that_live) {
  launched run(fake_yaml(2, fake_job("mlp", 2, "hang")));
  const auto processes = run.wait_for_processes(5);
  EXPECT_EQ(processes.size(), 5U);
  EXPECT_EQ(processes[0]["role"], "coordinator");
  EXPECT_EQ(processes[4], (nlohmann::json{{"role", "worker"},
                                          {"job", "mlp"},
                                          {"index", 1},
                                          {"pid", pid_of(processes, "worker", 1)},
                                          {"started", processes[4]["started"]}}));
  for (const auto& process : processes) {
    const auto stat = runtime::stat_of(process["pid"]);
    ASSERT_TRUE(stat);
    EXPECT_EQ(process["started"], stat->started) << "a reader can tell it from a later process";
  }
  run.signal(SIGTERM);
  run.wait();
}

TEST(launch, a_worker_that_fails_fails_the_job) {
  launched run(fake_yaml(
      1, fake_job("mlp", 1, "fail, 'NaN in fc1.weight'") + fake_job("other", 1, "done")));
  EXPECT_EQ(run.wait(), 1) << run.output();
  EXPECT_THAT(run.output(), HasSubstr("tidegate: job mlp failed: NaN in fc1.weight"));
  const auto result = run.read_json("result.json");
  EXPECT_EQ(result["exit_code"], 1);
  EXPECT_EQ(result["jobs"][0]["failure"], "NaN in fc1.weight");
  EXPECT_EQ(result["jobs"][0]["test_accuracy"], nullptr);
  EXPECT_EQ(result["jobs"][1]["state"], "done") << "it goes on";
}

TEST(launch, a_worker_that_crashes_ends_the_run) {
  launched run(fake_yaml(1, fake_job("mlp", 2, "abort")));
  EXPECT_EQ(run.wait(), 3) << run.output();
  EXPECT_THAT(run.output(),
              AllOf(HasSubstr("worker "), HasSubstr(" of job mlp (pid "),
                    HasSubstr("was killed by SIGABRT (its log ends: line 11 of rank "),
                    Not(HasSubstr("line 1 of rank"))));
  EXPECT_EQ(run.read_json("result.json")["exit_code"], 3);
  EXPECT_THAT(run.read("events.jsonl"),
              HasSubstr("was killed by SIGABRT (its log ends: line 11 of rank "));
}

TEST(launch, a_death_has_no_line_of_the_process_before_it) {
  launched run("supervision: {worker: {max_restarts: 1, backoff: 10ms}}\n" +
               fake_yaml(1, fake_job("lax", 1, "quieter, '7'", "restart")));
  EXPECT_EQ(run.wait(), 3) << run.output();
  EXPECT_THAT(
      run.output(),
      AllOf(HasSubstr("exited with status 7 (its log ends: line 11 of rank 0); it is started"),
            HasSubstr("exited with status 7; it has died 2 times")));
}

TEST(launch, a_worker_that_exits_without_a_word_ends_the_run) {
  launched run(fake_yaml(1, fake_job("lax", 1, "exit, '7'")));
  EXPECT_EQ(run.wait(), 3) << run.output();
  EXPECT_THAT(run.output(), HasSubstr("exited with status 7"));
}

TEST(launch, a_worker_that_crashes_again_and_again_ends_the_run_too) {
  launched run("supervision: {worker: {max_restarts: 2, backoff: 10ms}}\n" +
               fake_yaml(1, fake_job("lax", 1, "exit, '7'", "restart")));
  EXPECT_EQ(run.wait(), 3) << run.output();
  EXPECT_THAT(run.output(), AllOf(HasSubstr("it is started again (incarnation 2)"),
                                  HasSubstr("it is started again in 10 ms (incarnation 3)"),
                                  HasSubstr("it has died 3 times within 60000 ms "
                                            "(supervision.worker.max_restarts)")));
  EXPECT_THAT(run.read("events.jsonl"), HasSubstr("process_restarted"));
}

TEST(launch, a_job_whose_workers_are_gone_has_failed) {
  launched run(fake_yaml(1, fake_job("lax", 1, "exit, '0'")));
  EXPECT_EQ(run.wait(), 1) << run.output();
  EXPECT_THAT(
      run.output(),
      AllOf(HasSubstr("did they call finish()?"), HasSubstr("tidegate: worker 0 of job lax"),
            HasSubstr("(its log ends: line 11 of rank 0), without finish()\n")));
  EXPECT_THAT(run.read("events.jsonl"), HasSubstr("left_unfinished"));
}

TEST(launch, a_worker_that_left_without_finish_has_its_last_line_told) {
  launched run(fake_yaml(1, fake_job("lax", 5, "exit, '0'")));
  EXPECT_EQ(run.wait(), 1) << run.output();
  EXPECT_THAT(run.output(),
              AllOf(HasSubstr("exited with status 0 (its log ends: line 11 of rank 2), without "
                              "finish()\n"),
                    HasSubstr("tidegate: and 2 more; events.jsonl has all")));
}

TEST(launch, tells_a_killed_worker_by_its_rank) {
  launched run(fake_yaml(1, fake_job("mlp", 3, "hang")));
  const auto processes = run.wait_for_processes(5);
  ::kill(pid_of(processes, "worker", 1), SIGKILL);
  EXPECT_EQ(run.wait(), 3) << run.output();
  EXPECT_THAT(run.output(), HasSubstr("tidegate: worker 1 of job mlp (pid " +
                                      std::to_string(pid_of(processes, "worker", 1)) +
                                      ") was killed by SIGKILL"));
  EXPECT_THAT(
      run.read("events.jsonl"),
      HasSubstr(std::to_string(pid_of(processes, "worker", 0)) + ") was killed by SIGTERM"))
      << "the others are asked first";
  expect_all_dead(pids_of(processes));
}

TEST(launch, ends_when_a_shard_or_the_coordinator_dies) {
  for (const auto& [role, index] :
       {std::pair<std::string, int>{"shard", 1}, {"coordinator", 0}}) {
    launched run(fake_yaml(2, fake_job("mlp", 2, "hang")));
    const auto processes = run.wait_for_processes(5);
    ::kill(pid_of(processes, role, index), SIGKILL);
    EXPECT_EQ(run.wait(), 3) << run.output();
    EXPECT_THAT(run.output(), AllOf(HasSubstr(role + " " + std::to_string(index) + " (pid "),
                                    HasSubstr("was killed by SIGKILL")));
    expect_all_dead(pids_of(processes));
  }
}

TEST(launch, a_worker_that_ends_badly_after_its_job_is_a_warning) {
  launched run(fake_yaml(1, fake_job("mlp", 1, "done_then, '5'")));
  EXPECT_EQ(run.wait(), 0) << run.output();
  EXPECT_THAT(run.output(),
              HasSubstr("exited with status 5 (its log ends: line 11 of rank 0), after it had "
                        "finished"));
}

TEST(launch, gives_up_on_workers_that_do_not_join) {
  launched run(fake_yaml(1, fake_job("mlp", 1, "done") + fake_job("odd", 1, "stranger")),
               {"--set", "cluster.start_timeout=1s"});
  EXPECT_EQ(run.wait(), 1) << run.output();
  EXPECT_THAT(run.output(), HasSubstr("job odd failed: 0 of 1 workers joined within 1s"));
}

TEST(launch, an_interrupt_ends_everything_within_two_seconds) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    launched run(fake_yaml(2, fake_job("mlp", 2, "stubborn")));
    const auto processes = run.wait_for_processes(5);
    run.wait_for_text("logs/worker-mlp-1.log", "line 11");
    run.signal(number);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(run.wait(), 1) << run.output();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    EXPECT_LT(took.count(), end_seconds_max);
    EXPECT_THAT(run.output(), HasSubstr("interrupted by SIG"));
    EXPECT_EQ(run.read_json("result.json")["jobs"][0]["state"], "interrupted");
    EXPECT_THAT(run.output(), Not(HasSubstr("--resume"))) << "there is no checkpoint";
    expect_all_dead(pids_of(processes));
  }
}

TEST(launch, an_interrupt_ends_a_coordinator_that_hangs) {
  launched run(fake_yaml(1, fake_job("mlp", 1, "hang")));
  const auto processes = run.wait_for_processes(3);
  run.wait_for_text("logs/worker-mlp-0.log", "line 11");
  ::kill(pid_of(processes, "coordinator", 0), SIGSTOP);
  run.signal(SIGINT);
  EXPECT_EQ(run.wait(), 1) << run.output();
  EXPECT_LT(run.seconds(), 10);
  expect_all_dead(pids_of(processes));
}

TEST(launch, its_own_death_takes_everything_along) {
  launched run(fake_yaml(2, fake_job("mlp", 2, "stubborn")));
  const auto pids = pids_of(run.wait_for_processes(5));
  run.signal(SIGKILL);
  EXPECT_EQ(run.wait(), 128 + SIGKILL);
  for (const int pid : pids) wait_for_death(pid);
}

TEST(launch, leaves_nothing_that_a_worker_started) {
  launched run(fake_yaml(
      1, "  mlp: {command: [sh, -c, 'sleep 1000 & echo $!; exec \"$FAKE\" worker done']}\n"));
  run.wait();
  const auto log = run.read("logs/worker-mlp-0.log");
  wait_for_death(std::stoi(log));
}

TEST(launch, a_coordinator_that_ends_or_never_gets_ready) {
  launched broken(fake_yaml(1, fake_job("mlp", 1, "done"), "broken"));
  EXPECT_EQ(broken.wait(), 3) << broken.output();
  EXPECT_THAT(broken.output(),
              AllOf(HasSubstr("coordinator 0 (pid "), HasSubstr("exited with status 1"),
                    HasSubstr("the port is in use")));
  launched silent(fake_yaml(1, fake_job("mlp", 1, "done"), "silent"),
                  {"--set", "cluster.start_timeout=300ms"});
  EXPECT_EQ(silent.wait(), 1) << silent.output();
  EXPECT_THAT(silent.output(), HasSubstr("the coordinator was not ready within 300ms"));
}

TEST(launch, a_node_of_another_protocol_refuses_to_start) {
  for (const auto& [setting, says] :
       {std::pair<std::string, std::string>{"TIDEGATE_PROTOCOL=250", "the launcher speaks 250"},
        {"-u TIDEGATE_PROTOCOL", "the launcher does not say which it speaks"}}) {
    const auto command = "env " + setting + " '" + FAKE_TIDEGATE +
                         "' node shard --run-dir /nowhere --index 0 2>&1; echo status $?";
    std::string output;
    FILE* pipe = ::popen(command.c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    for (int byte = std::fgetc(pipe); byte != EOF; byte = std::fgetc(pipe))
      output += static_cast<char>(byte);
    ::pclose(pipe);
    EXPECT_THAT(output,
                AllOf(HasSubstr("built for protocol "), HasSubstr(says),
                      HasSubstr("install the launcher's Tidegate"), HasSubstr("status 1\n")));
  }
}

// Every host has an agent of its own, which are processes beside the launcher.
std::string yaml_of_hosts(const std::string& prefix_of_b, const std::string& job) {
  return "cluster: {name: t, hosts: {a: {address: 127.0.0.1}, b: {address: 127.0.0.1, "
         "prefix: " +
         prefix_of_b + "}}}\njobs:\n" + job;
}

TEST(launch, starts_the_processes_of_another_host_through_its_agent) {
  launched run(yaml_of_hosts("[env, BLUE=1]",
                             "  mlp: {workers: 2, command: [sh, -c, 'echo BLUE=$BLUE "
                             "host=$TIDEGATE_HOST; exec \"$FAKE\" worker done']}\n"));
  EXPECT_EQ(run.wait(), 0) << run.output();
  EXPECT_THAT(run.read("logs/worker-mlp-0.log"), HasSubstr("BLUE= host=a\n"));
  EXPECT_THAT(run.read("logs/worker-mlp-1.log"), HasSubstr("BLUE=1 host=b\n"));
}

TEST(launch, an_agent_that_cannot_begin_says_why) {
  for (
      const auto& [prefix, says] :
      {std::pair<std::string, std::string>{"[sh, -c, 'echo no key for b; exit 5']",
                                           "no key for b"},
       {"[sh, -c, 'exec \"$1\" host </dev/null', sh]",
        "standard input has ended before its first line"},
       {R"([sh, -c, 'read -r line; printf %s\\n "$line" | sed "s/otocol\":\"[0-9.]*/&250/" | "$1" host', sh])",
        "install the launcher's Tidegate on this host"}}) {
    launched run(yaml_of_hosts(prefix, fake_job("mlp", 2, "done")));
    EXPECT_EQ(run.wait(), 1) << run.output();
    EXPECT_THAT(run.output(), AllOf(HasSubstr("host b: its agent exited with status"),
                                    HasSubstr("agent-b.log"), HasSubstr(says)));
    EXPECT_LT(run.seconds(), 5);
  }
}

TEST(launch, a_program_that_only_the_other_host_lacks_is_named) {
  launched run(yaml_of_hosts("[env]", "  mlp: {workers: 2, hosts: [b], command: [no_such]}\n"));
  EXPECT_EQ(run.wait(), 1) << run.output();
  EXPECT_THAT(run.output(), AllOf(HasSubstr("jobs.mlp.command: program 'no_such'")));
}

TEST(launch, refuses_what_cannot_start) {
  launched missing(fake_yaml(1, "  a: {command: no_such_program}\n  b: {command: ./gone}\n"));
  EXPECT_EQ(missing.wait(), 2);
  EXPECT_THAT(missing.output(), AllOf(HasSubstr("jobs.a.command: program 'no_such_program'"),
                                      HasSubstr("jobs.b.command: program './gone'")));
  EXPECT_FALSE(std::filesystem::exists(missing.path("")));
  launched bad(fake_yaml(0, fake_job("mlp", 0, "done")));
  EXPECT_EQ(bad.wait(), 2);
  EXPECT_THAT(bad.output(),
              AllOf(HasSubstr("cluster.shards: 0"), HasSubstr("jobs.mlp.workers: 0")));
}

TEST(launch, tells_workers_who_they_are_and_keeps_the_users_transports) {
  launched run(fake_yaml(1,
                         "  mlp: {env: {MINE: '7'}, command: [sh, -c, 'env; exec \"$FAKE\" "
                         "worker done']}\n"),
               {}, "UCX_TLS=tcp");
  run.wait();
  EXPECT_THAT(run.read("logs/worker-mlp-0.log"),
              AllOf(HasSubstr("TIDEGATE_JOB=mlp\n"), HasSubstr("TIDEGATE_RANK=0\n"),
                    HasSubstr("TIDEGATE_INCARNATION=1\n"), HasSubstr("MINE=7\n"),
                    HasSubstr("TIDEGATE_TRANSPORT=auto\n"), HasSubstr("TIDEGATE_RUN_DIR=/"),
                    HasSubstr("UCX_TLS=tcp\n")));
  EXPECT_THAT(run.read("events.jsonl"), HasSubstr("user_transports"));
}

}  // namespace
}  // namespace tidegate::launch
