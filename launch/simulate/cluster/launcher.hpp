// The simulated launcher: the world of its shells (launch/shell). It decides nothing, and tells
// the checker what it sees. One thread.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "launch/shell/inner_agent.hpp"
#include "launch/shell/run_shell.hpp"
#include "launch/simulate/cluster/host_processes.hpp"
#include "launch/simulate/cluster/process.hpp"

namespace tidegate::sim {

class coordinator_process;

class launcher final : public frameless_process,
                       private launch::run_port,
                       private host_processes::owner {
 public:
  launcher(world& where, process_id id, std::uint32_t epoch);
  // Puts the epoch of the next launcher on record. Errors: those of the run folder.
  static runtime::expected<std::uint32_t> begin_epoch(world& where);

  void start() override;

  // An agent connects over a control connection, says something over it, or closes it.
  void agent_connects(std::uint32_t host, process_id agent);
  void agent_says(process_id agent, const policies::agent_frame& frame);
  void agent_leaves(process_id agent);

  bool has_up(std::uint32_t host) const { return shell_.is_up(host); }

  // How the run has ended, when every process has.
  struct outcome {
    policies::run_outcome result = policies::run_outcome::done;
    std::string why;
    std::vector<policies::job_status> jobs = {};

    // Returns true if every job is done, or was cancelled.
    bool is_well() const {
      return std::all_of(jobs.begin(), jobs.end(), [](const auto& job) {
        return job.state == policies::job_state::done ||
               job.state == policies::job_state::cancelled;
      });
    }
    bool was_cancelled(const std::string& name) const {
      return std::any_of(jobs.begin(), jobs.end(), [&](const auto& job) {
        return job.name == name && job.state == policies::job_state::cancelled;
      });
    }
  };
  const std::optional<outcome>& ended() const noexcept { return ended_; }

 private:
  void peer_lost(process_id peer) override;
  // It sees by other means whether its own processes live.
  void control_broke(process_id peer, std::uint32_t number) override;

  // Of its own host's processes.
  void after(nanoseconds delay, std::function<void()> action) override {
    later(delay, std::move(action));
  }
  void happened(policies::agent_report report) override;
  void all_ended() override {
    own_happened_.all_ended = true;
    turn_soon();
  }
  bool is_over() const override { return ended_.has_value(); }
  process_id parent() const override { return id(); }

  // What its shell asks for.
  void start_agent(const policies::host_effects::start_agent& start) override;
  void end_agent(policies::host_number host) override;
  void send(policies::agent_connection over, const policies::launcher_frame& frame) override;
  void close(policies::agent_connection connection) override;
  std::vector<launch::agent_event> take_agent_events() override;
  void starting(const policies::process_name&) override {}
  void coordinator_listens(std::uint16_t) override {}
  void watch() override;
  void unwatch() override;
  bool watches() const override { return poll_.has_value(); }
  void poll_now() override;
  std::uint64_t ask(const launch::launch_question& question) override;
  void finish(launch::poll_shell::job_failures failures) override;
  runtime::status record_epoch(std::uint32_t epoch) override;
  runtime::status record_cancelled(const std::string& job) override;
  void event(const std::string& subject, const std::string& detail,
             const policies::event_fields&) override {
    note(subject + ": " + detail);
  }
  runtime::status write_pids(const std::vector<launch::live_process>& processes) override;
  void complain(const std::string& text) override { note(text); }
  void show_log(const std::string&) override {}
  void answer(std::uint32_t, const std::string& line) override { note("asked for: " + line); }

  void turn_soon();
  void turn();
  void after_turn();
  void wake_at(std::int64_t when);

  // Its conversation with the coordinator.
  void carry_out(const launch::poll_step& step);
  void go_on(std::uint32_t watch, const sim::answer& got);
  void end_rest();
  void connect();
  static void put(const launch::launch_question& question, coordinator_process& to,
                  answer_to reply);

  std::unique_ptr<disk_view> folder_;  // of the run
  // How it has to do with the agent of another host.
  struct agent_start {
    std::uint64_t start = 0;  // that was asked for last
    process_id agent = 0;     // that was started by it and lives
  };
  struct agent_link {
    std::uint32_t host = 0;
    process_id agent = 0;
    std::uint32_t number = 0;  // of the control connection
  };
  void begin_agent(policies::host_number host, std::uint64_t start);
  void agent_happened(policies::host_number host, launch::agent_event event);

  host_processes own_;
  launch::inner_agent agent_;
  std::map<policies::host_number, agent_start> agents_;
  std::map<policies::agent_connection, agent_link> links_;
  policies::agent_connection last_link_ = launch::inner_agent::connection;
  std::vector<launch::agent_event> agent_events_;
  launch::run_shell shell_;
  launch::run_turn happened_;        // since the last turn
  launch::agent_turn own_happened_;  // likewise
  bool turn_due_ = false;
  std::optional<launch::poll_shell> poll_;
  std::map<std::uint64_t, launch::launch_question> questions_;
  std::uint32_t watch_ = 0;  // counts the conversations
  process_id observed_ = 0;  // the coordinator that it has connected to
  std::uint64_t rest_ = 0;   // counts the rests
  bool rests_ = false;
  std::set<std::string> pids_;  // as the run folder has them, by name
  std::int64_t waking_ = policies::launch_core::never;
  std::optional<outcome> ended_;
};

// The launcher that there is (asserted).
launcher& launcher_of(world& where);

}  // namespace tidegate::sim
