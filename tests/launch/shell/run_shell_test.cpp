// What a launcher does of what its core decides, in which order, in a world of words.
#include "launch/shell/run_shell.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include <gtest/gtest.h>

#include "launch/shell/inner_agent.hpp"

namespace tidegate::launch {
namespace {

using policies::process_role;
using lines = std::vector<std::string>;

constexpr std::int64_t millisecond = 1'000'000;

policies::launch_plan small_plan(std::uint32_t spares = 0) {
  policies::launch_plan plan;
  plan.processes = {{.role = process_role::coordinator, .job = "", .index = 0},
                    {.role = process_role::shard, .job = "", .index = 0},
                    {.role = process_role::worker, .job = "a", .index = 0}};
  plan.jobs = {{.name = "a",
                .policy = "bsp",
                .workers = 1,
                .on_worker_loss = policies::worker_loss_rule::restart,
                .checkpoints = false,
                .spares = spares,
                .hosts = {""}}};
  return plan;
}

class world_of_words final : public run_port, public process_port, public survey_port {
 public:
  runtime::expected<spawned_process> spawn(
      const policies::agent_orders::start& start) override {
    const auto& [process, incarnation] = start.process;
    const auto life = std::to_string(process) + "." + std::to_string(incarnation);
    if (refuses_.contains(process)) {
      seen.push_back("no spawn " + life);
      return runtime::fail(runtime::errc::io_error, "no memory");
    }
    seen.push_back("spawn " + life + (start.spare == policies::no_spare ? "" : " as a spare"));
    return spawned_process{.pid = process, .was_spare = start.spare != policies::no_spare};
  }
  runtime::status spawn_spare(const policies::agent_orders::start_spare& start) override {
    seen.push_back("spare " + std::to_string(start.spare));
    return spares;
  }
  void end_spare(policies::spare_number spare) override {
    seen.push_back("end spare " + std::to_string(spare));
  }
  void signal(const launched_process& process, process_signal content) override {
    const bool kills = content == process_signal::kill;
    seen.push_back((kills ? "kill " : "terminate ") + std::to_string(process.process) + "." +
                   std::to_string(process.incarnation));
  }
  void state_mirrored(const launched_process&, std::uint64_t) override {}
  std::vector<policies::agent_reports::spans> spans(std::size_t most) override {
    seen.push_back("spans, at most " + std::to_string(most));
    return {{.writer = "worker-a-0", .all = {{.clock = 7}}}};
  }
  void end_all() override { agent.turn(now, {.all_ended = true}); }
  void survey(const policies::agent_orders::survey&) override {}
  std::vector<policies::beat_reading> beats() override { return {{2, beats_}}; }
  void start_agent(const policies::host_effects::start_agent& start) override {
    if (start.host == inner_agent::host) return agent.start(now, start.start);
    if (others_come)
      failed_.push_back(
          {start.host, agent_event::frame{
                           .over = 100 + start.host,
                           .content = {.taken = 0,
                                       .content = policies::agent_frame::hello{
                                           .agent = 9, .start = start.start, .launcher = 1}}}});
    else
      failed_.push_back({start.host, agent_event::ended{"no route to it"}});
  }
  void end_agent(policies::host_number host) override {
    if (host == inner_agent::host) return agent.end();
    seen.push_back("end agent " + std::to_string(host));
    failed_.push_back({host, agent_event::ended{"it was ended"}});
  }
  void send(policies::agent_connection, const policies::launcher_frame& frame) override {
    agent.send(now, frame);
  }
  void close(policies::agent_connection) override {}
  std::vector<agent_event> take_agent_events() override {
    auto events = agent.take_events();
    for (auto& event : std::exchange(failed_, {})) events.push_back(std::move(event));
    return events;
  }
  void starting(const policies::process_name&) override {}
  void coordinator_listens(std::uint16_t) override {}
  void watch() override { watches_ = true; }
  void unwatch() override { watches_ = false; }
  bool watches() const override { return watches_; }
  void poll_now() override { seen.push_back("poll"); }
  std::uint64_t ask(const launch_question& question) override {
    seen.push_back("ask " + std::to_string(static_cast<int>(question.about)) + " of " +
                   question.name.to_string() + "." + std::to_string(question.incarnation));
    return ++asked_;
  }
  void finish(poll_shell::job_failures) override { seen.push_back("finish"); }
  runtime::status record_epoch(std::uint32_t) override { return {}; }
  runtime::status record_cancelled(const std::string& job) override {
    seen.push_back("record " + job);
    return disk;
  }
  void event(const std::string&, const std::string&, const policies::event_fields&) override {}
  runtime::status write_pids(const std::vector<live_process>&) override {
    seen.push_back("pids");
    return disk;
  }
  void complain(const std::string&) override {}
  void show_log(const std::string& writer) override { seen.push_back("log of " + writer); }
  void begin_spans(const span_request& wanted) override {
    seen.push_back("spans of " + std::to_string(static_cast<int>(wanted.why)) + " " +
                   wanted.detail);
  }
  void add_spans(const std::string& host, const policies::agent_reports::spans& of) override {
    seen.push_back("spans of " + of.writer + host + ": " + std::to_string(of.all.size()));
  }
  void end_spans() override { seen.push_back("end of spans"); }
  bool traces_end() const override { return traces_end_; }
  void answer(std::uint32_t asker, const std::string& line) override {
    seen.push_back("to " + std::to_string(asker) + ": " + line);
  }

  explicit world_of_words(std::uint32_t heartbeat_ms = 0) : agent(*this, *this, heartbeat_ms) {}
  // They say hello, and nothing after it; else they cannot be reached.
  bool others_come = false;
  lines take() { return std::exchange(seen, {}); }

  inner_agent agent;
  std::int64_t now = 0;

  lines seen;
  std::set<policies::process_number> refuses_;
  std::uint64_t beats_ = 1;
  bool traces_end_ = false;
  runtime::status disk;
  runtime::status spares;

 private:
  bool watches_ = false;
  std::uint64_t asked_ = 0;
  std::vector<agent_event> failed_;  // of other hosts, none of which can be reached
};

poll_news running_news() {
  poll_news news;
  news.connected = true;
  auto& job = news.status.jobs.emplace_back();
  job.name = "a";
  job.state = policies::job_state::running;
  job.workers = job.workers_joined = 1;
  job.incarnations = {1};
  news.status.incarnation = 1;
  return news;
}

policies::agent_report death_of(policies::process_number process,
                                std::uint32_t incarnation = 1) {
  return policies::agent_reports::ended{
      .process = {process, incarnation},
      .exit = {policies::process_exit::ending::by_signal, "it died"}};
}
const policies::agent_report coordinator_listens =
    policies::agent_reports::listens{.process = {0, 1}, .port = 4000, .unusable = {}};

struct launcher_of_words {
  explicit launcher_of_words(std::uint32_t heartbeat_ms = 0, std::uint32_t spares = 0)
      : world(heartbeat_ms), shell(small_plan(spares), world, 1) {
    shell.begin(0);
  }
  void turn(std::int64_t now, run_turn happened,
            std::vector<policies::agent_report> reports = {}) {
    world.now = now;
    world.agent.turn(now, {.link = {}, .frames = {}, .reports = std::move(reports)});
    shell.turn(now, std::move(happened));
  }

  world_of_words world;
  run_shell shell;
};

struct running : launcher_of_words {
  explicit running(std::uint32_t heartbeat_ms = 0, std::uint32_t spares = 0)
      : launcher_of_words(heartbeat_ms, spares) {
    turn(1, {}, {coordinator_listens});
    is_told(2, 0);
  }
  void dies(std::int64_t now, policies::process_number process) {
    turn(now, {}, {death_of(process)});
  }
  // The answer to the last question about the job's health.
  void is_told(std::int64_t now, std::uint64_t answered) {
    run_turn happened;
    happened.news = running_news();
    happened.news->answered = answered;
    turn(now, std::move(happened));
  }
};

TEST(run_shell, writes_the_pids_after_spawns_and_before_it_decides_again) {
  launcher_of_words run;
  EXPECT_EQ(run.world.take(), (lines{"spawn 0.1", "pids"}));
  run.turn(1, {}, {coordinator_listens});
  EXPECT_EQ(run.world.take(), (lines{"spawn 1.1", "spawn 2.1", "pids"}));
  EXPECT_TRUE(run.world.watches());
}

TEST(run_shell, tells_the_coordinator_which_life_has_ended) {
  running run;
  run.world.take();
  run.dies(10, 2);
  EXPECT_EQ(run.world.take(), (lines{"ask 4 of worker-a-0.1", "pids", "poll"}));
}

TEST(run_shell, a_life_is_ended_that_is_the_one_judged) {
  running run(1000);
  run.dies(10, 2);
  run.is_told(20, 1);
  run.is_told(500 * millisecond, 1);
  auto all = run.world.take();
  EXPECT_EQ(std::count(all.begin(), all.end(), "spawn 2.2"), 1);
  // Its own beats, and then none.
  for (auto now = 600 * millisecond; now < 5000 * millisecond; now += 100 * millisecond)
    run.is_told(now, 1);
  all = run.world.take();
  EXPECT_EQ(std::count(all.begin(), all.end(), "kill 2.2"), 1);
  EXPECT_EQ(std::count(all.begin(), all.end(), "kill 2.1"), 0);
}

TEST(run_shell, pids_that_could_not_be_written_are_written_in_the_next_turn) {
  running run;
  run.world.take();
  run.world.disk = {runtime::errc::no_space, "full"};
  run.dies(10, 2);
  run.world.take();
  run.is_told(20, 1);
  auto seen = run.world.take();
  EXPECT_GT(std::count(seen.begin(), seen.end(), "pids"), 0) << "there may be room again";
  run.world.disk = {};
  run.is_told(30, 1);
  run.world.take();
  run.is_told(40, 1);
  seen = run.world.take();
  EXPECT_EQ(std::count(seen.begin(), seen.end(), "pids"), 0) << "they are written";
}

// Their agents fail before the first turn is over.
TEST(run_shell, hosts_that_cannot_be_reached_at_once_end_the_run) {
  auto plan = small_plan();
  plan.hosts = {{.name = "own", .room = {}}, {.name = "blue", .room = {}}};
  plan.homes = {{"worker-a-0", 1}};
  world_of_words world;
  run_shell shell(plan, world, 1);
  shell.begin(0);
  shell.turn(1, {});
  world.agent.turn(2, {.link = {}, .frames = {}, .reports = {death_of(0)}});
  shell.turn(2, {});
  ASSERT_NE(shell.ended(), nullptr);
  EXPECT_EQ(shell.ended()->outcome, policies::run_outcome::job_failed);
  EXPECT_EQ(shell.ended()->reason, "host blue: no route to it");
  const auto all = world.take();
  EXPECT_EQ(std::count(all.begin(), all.end(), "log of agent-blue"), 1);
}

TEST(run_shell, a_process_that_cannot_be_started_again_is_tried_later) {
  running run;
  run.world.refuses_ = {2};
  run.dies(10, 2);
  run.is_told(20, 1);
  run.world.refuses_.clear();
  for (auto now = 600; now < 3000; now += 100) run.is_told(now * millisecond, 1);
  const auto all = run.world.take();
  EXPECT_EQ(std::count(all.begin(), all.end(), "no spawn 2.2"), 1);
  EXPECT_EQ(std::count(all.begin(), all.end(), "spawn 2.3"), 1);
}

TEST(run_shell, a_launcher_that_was_stopped_hears_before_it_judges) {
  launcher_of_words run;
  run.turn(1, {}, {coordinator_listens});
  const auto waiting = [&](std::int64_t now) {
    run_turn told;
    told.news = running_news();
    told.news->status.jobs[0].state = policies::job_state::waiting;
    told.news->status.jobs[0].workers_joined = 0;
    run.turn(now, std::move(told));
  };
  waiting(200 * millisecond);
  waiting(100'000 * millisecond);
  EXPECT_TRUE(run.shell.core().is_running()) << "what it knows is 100 s old";
  for (auto at = 100'000; at < 131'000; at += 200) waiting(at * millisecond);
  EXPECT_FALSE(run.shell.core().is_running()) << "start_timeout is over, as it has seen";
}

// A run with another host, whose agent does not leave when everything has ended.
struct deaf_host {
  deaf_host() {
    auto plan = small_plan();
    plan.hosts = {{.name = "own", .room = {}}, {.name = "blue", .room = {}}};
    world.others_come = true;
    shell.emplace(plan, world, 1);
    shell->begin(0);
    turn(1, {}, {coordinator_listens});
    run_turn told;
    told.news = running_news();
    turn(2, std::move(told));
    stop(3);
    for (const policies::process_number process : {2U, 1U, 0U})
      turn(6 - process, {}, {death_of(process)});
    world.take();
  }
  void turn(std::int64_t now, run_turn happened,
            std::vector<policies::agent_report> reports = {}) {
    world.now = now;
    world.agent.turn(now, {.link = {}, .frames = {}, .reports = std::move(reports)});
    shell->turn(now, std::move(happened));
  }
  void stop(std::int64_t now) {
    run_turn asked;
    asked.signals.push_back({.name = "SIGTERM"});
    turn(now, std::move(asked));
  }
  world_of_words world;
  std::optional<run_shell> shell;
};

TEST(run_shell, an_agent_that_does_not_leave_is_ended_and_so_is_the_run) {
  deaf_host run;
  ASSERT_EQ(run.shell->ended(), nullptr);
  auto now = std::int64_t{10};
  for (int turns = 0; turns < 20 && run.shell->ended() == nullptr; ++turns) {
    now = std::max(now + millisecond, run.shell->next_wake());
    run.turn(now, {});
  }
  ASSERT_NE(run.shell->ended(), nullptr);
  EXPECT_LE(now, 10'100 * millisecond) << "supervision.unreachable";
  EXPECT_EQ(run.world.take(), (lines{"end agent 1"}));
}

TEST(run_shell, who_stops_a_run_again_does_not_wait_for_an_agent_that_does_not_leave) {
  deaf_host run;
  run.stop(20);
  run.turn(21, {});
  EXPECT_EQ(run.world.take(), (lines{"end agent 1"}));
  EXPECT_NE(run.shell->ended(), nullptr);
}

TEST(run_shell, requests_for_other_numbers_wait_for_each_other) {
  running run;
  run.world.take();
  run_turn asked;
  asked.requests = {{.asker = 7, .job = "a", .number = 2},
                    {.asker = 8, .job = "a", .number = 3}};
  run.turn(10, std::move(asked));
  EXPECT_EQ(run.world.take(), (lines{"ask 2 of coordinator-a-0.0"}));
  run_turn answered;
  answered.news = running_news();
  answered.news->answers = {{1, {}}};
  run.turn(20, std::move(answered));
  EXPECT_EQ(run.world.take(),
            (lines{"to 7: ok", "ask 2 of coordinator-a-0.0", "spawn 3.1", "pids"}));
}

TEST(run_shell, a_job_that_is_cancelled_is_on_record_before_that_is_said) {
  running run;
  run.world.take();
  run_turn asked;
  asked.cancels = {
      {.asker = 7, .job = "b"}, {.asker = 8, .job = "a"}, {.asker = 9, .job = "a"}};
  run.turn(10, std::move(asked));
  EXPECT_EQ(run.world.take(),
            (lines{"to 7: error no job 'b' in this run", "ask 5 of coordinator-a-0.0"}));
  run_turn ended;
  ended.news = running_news();
  ended.news->status.jobs[0].state = policies::job_state::failed;
  run.turn(20, std::move(ended));
  const auto seen = run.world.take();
  ASSERT_GE(seen.size(), 3U);
  EXPECT_EQ((lines{seen[0], seen[1], seen[2]}), (lines{"record a", "to 8: ok", "to 9: ok"}));
}

TEST(run_shell, who_cancels_a_job_hears_that_it_could_not_be_put_on_record_or_was_done) {
  for (const auto state : {policies::job_state::failed, policies::job_state::done}) {
    running run;
    run_turn asked;
    asked.cancels = {{.asker = 8, .job = "a"}};
    run.turn(10, std::move(asked));
    run.world.take();
    run.world.disk = {runtime::errc::io_error, "the disk is full"};
    run_turn ended;
    ended.news = running_news();
    ended.news->status.jobs[0].state = state;
    run.turn(20, std::move(ended));
    const auto expected = state == policies::job_state::done
                              ? "to 8: error job a has ended"
                              : "to 8: error job a ends, and begins again if the run is "
                                "resumed: the disk is full";
    const auto seen = run.world.take();
    EXPECT_EQ(std::count(seen.begin(), seen.end(), expected), 1) << expected;
  }
}

lines about_spans(lines all) {
  std::erase_if(all, [](const auto& line) { return line.find("spans") == std::string::npos; });
  return all;
}

TEST(run_shell, collects_what_processes_have_noted_for_whoever_asks) {
  running run;
  run.world.take();
  run_turn asked;
  asked.traces = {{.asker = 8}};
  run.turn(10, std::move(asked));
  EXPECT_EQ(about_spans(run.world.take()), (lines{"spans of 0 ", "spans, at most 262144",
                                                  "spans of worker-a-0: 1", "end of spans"}));
}

TEST(run_shell, collects_what_led_to_a_failure_once) {
  running run;
  run.world.take();
  for (const std::int64_t now : {10, 20}) {
    run_turn failed;
    failed.news = running_news();
    failed.news->status.jobs[0].state = policies::job_state::failed;
    failed.news->status.jobs[0].failure = "a NaN";
    run.turn(now, std::move(failed));
    const auto seen = about_spans(run.world.take());
    if (now == 10)
      EXPECT_EQ(seen, (lines{"spans of 1 job a has failed: a NaN", "spans, at most 32768",
                             "spans of worker-a-0: 1", "end of spans"}));
    else
      EXPECT_TRUE(seen.empty());
  }
}

TEST(run_shell, a_spare_that_waits_takes_the_place_of_a_worker) {
  running run(0, 1);
  EXPECT_EQ(run.world.take().back(), "spare 1");
  run.turn(10, {},
           {policies::agent_reports::spare_ready{.spare = 1, .can_copy = false}, death_of(2)});
  run.world.take();
  run.is_told(20, 1);
  EXPECT_EQ(run.world.take(), (lines{"spawn 2.2 as a spare", "pids"}));
}

TEST(run_shell, a_spare_that_cannot_be_started_has_ended) {
  running run(0, 1);
  run.world.take();
  run.world.spares = {runtime::errc::io_error, "no memory"};
  run.turn(10, {}, {policies::agent_reports::spare_ended{.spare = 1, .why = "it was killed"}});
  EXPECT_EQ(run.world.take(), (lines{"spare 2"}));
  const auto pause = policies::supervision_spec().worker.backoff_first_ms * millisecond;
  EXPECT_EQ(run.shell.next_wake(), 10 + pause) << "the second death within its time";
  run.world.spares = {};
  run.turn(10 + pause, {});
  EXPECT_EQ(run.world.take(), (lines{"spare 3"}));
}

}  // namespace
}  // namespace tidegate::launch
