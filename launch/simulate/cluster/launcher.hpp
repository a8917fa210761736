// The simulated launcher: the world of its shells (launch/shell). It decides nothing, and tells
// the checker what it sees. One thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launch/shell/run_shell.hpp"
#include "launch/simulate/cluster/process.hpp"

namespace tidegate::sim {

class coordinator_process;

// Which of its hosts a cluster places this worker on.
std::uint32_t host_of_worker(const policies::cluster_spec& spec, const policies::job_spec& job,
                             std::uint32_t rank);

class launcher final : public frameless_process, private launch::run_port {
 public:
  launcher(world& where, process_id id, std::uint32_t epoch);
  static launcher& of(world& where);
  // Puts the epoch of the next launcher on record. Errors: those of the run folder.
  static runtime::expected<std::uint32_t> begin_epoch(world& where);

  void start() override;
  // A process leaves by itself; `why`: ok with exit code 0.
  void exits(process_id id, const runtime::status& why);

  // How the run has ended, when every process has.
  struct outcome {
    policies::run_outcome result = policies::run_outcome::done;
    std::string why;
  };
  const std::optional<outcome>& ended() const noexcept { return ended_; }

 private:
  void peer_lost(process_id peer) override;
  // It sees by other means whether they live.
  void control_broke(process_id, std::uint32_t) override {}

  // What its shell asks for.
  runtime::expected<std::string> spawn(const policies::launch_effects::start& start) override;
  runtime::status spawn_spare(const policies::launch_effects::start_spare& start) override;
  void end_spare(policies::spare_number number) override;
  void end_spare_now(policies::spare_number number);
  std::optional<nanoseconds> take_spare(policies::spare_number number,
                                        const policies::process_name& name);
  void end(const launch::launched_process& launched_process, bool by_force) override;
  std::vector<policies::beat_reading> beats() override { return {}; }
  void watch() override;
  void unwatch() override;
  bool watches() const override { return poll_.has_value(); }
  void poll_now() override;
  std::uint64_t ask(const launch::launch_question& question) override;
  void finish(launch::poll_shell::job_failures failures) override;
  runtime::status record_epoch(std::uint32_t epoch) override;
  void event(const std::string& subject, const std::string& detail) override {
    note(subject + ": " + detail);
  }
  runtime::status write_pids() override;
  void complain(const std::string& text) override { note(text); }
  void show_log(policies::process_number) override {}
  void answer(std::uint32_t, const std::string& line) override { note("scaled: " + line); }

  void happens(const std::function<void(launch::run_turn&)>& action);
  void turn_soon();
  void turn();
  void after_turn();
  void wake_at(std::int64_t when);
  // With their incarnations.
  std::map<policies::process_number, std::uint32_t> living() const;

  // Its conversation with the coordinator.
  void carry_out(const launch::poll_step& step);
  void go_on(std::uint32_t watch, const sim::answer& got);
  void end_rest();
  void connect();
  static void put(const launch::launch_question& question, coordinator_process& to,
                  answer_to reply);

  std::unique_ptr<process> make(const policies::process_name& name, process_id id,
                                const policies::launch_effects::start& start);
  void begin(const policies::launch_effects::start& start);

  std::unique_ptr<disk_view> folder_;  // of the run
  launch::run_shell shell_;
  launch::run_turn happened_;  // since the last turn
  bool turn_due_ = false;
  std::optional<launch::poll_shell> poll_;
  std::map<std::uint64_t, launch::launch_question> questions_;
  std::uint32_t watch_ = 0;  // counts the conversations
  process_id observed_ = 0;  // the coordinator that it has connected to
  std::uint64_t rest_ = 0;   // counts the rests
  bool rests_ = false;
  std::map<policies::process_number, process_id> running_;
  std::map<policies::process_number, bool> starting_;        // whether they still may
  std::map<policies::process_number, std::uint32_t> lives_;  // incarnations
  std::map<policies::process_number, std::uint32_t> pids_;   // as the run folder has them
  std::map<process_id, runtime::status> left_;               // by themselves: why
  struct spare {
    std::string job;
    std::uint32_t host = 0;
    nanoseconds waits_at = 0;  // from when on
    bool can_copy = false;
  };
  std::map<policies::spare_number, spare> spares_;  // that live and have no place
  std::set<policies::spare_number> spares_started_;
  std::set<policies::spare_number> spares_taken_;
  std::uint32_t spawns_to_fail_;
  std::uint32_t epoch_ = 0;  // that the checker knows of
  std::int64_t waking_ = policies::launch_core::never;
  std::optional<outcome> ended_;
};

}  // namespace tidegate::sim
