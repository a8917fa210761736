// A launcher's shell in a world of words: what it asks for is noted, and nothing happens by
// itself.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "launch/shell/inner_agent.hpp"
#include "launch/shell/run_shell.hpp"

namespace tidegate::launch {

using policies::process_role;
using lines = std::vector<std::string>;

inline policies::launch_plan small_plan(std::uint32_t spares = 0) {
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

inline poll_news running_news() {
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

inline policies::agent_report death_of(policies::process_number process,
                                       std::uint32_t incarnation = 1) {
  return policies::agent_reports::ended{
      .process = {process, incarnation},
      .exit = {policies::process_exit::ending::by_signal, "it died"}};
}
inline const policies::agent_report coordinator_listens =
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

}  // namespace tidegate::launch
