// The hosts of a run, for run_shell: the contact to the agent of each, what they are ordered to
// do, and what they report, as the core is to hear of it. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "launch/shell/host_port.hpp"
#include "launch/shell/quiet_ends.hpp"
#include "launch/shell/run_port.hpp"
#include "policies/launcher/core.hpp"
#include "policies/launcher/host_contact.hpp"
#include "policies/launcher/state_mirror.hpp"

namespace tidegate::launch {

class run_hosts {
 public:
  using launch_effects = policies::launch_effects;

  // `plan`, `launcher`: as run_shell has them. `world` and `core` outlive it.
  run_hosts(const policies::launch_plan& plan, std::uint64_t launcher, run_port& world,
            policies::launch_core& core);

  // In each turn first, at `now` of the core.
  void begin(std::int64_t now);
  void tick(std::int64_t now);
  // Carries out what has happened and what was ordered, so far as it can be now. Returns true
  // if it has told the core of something, or there may be more.
  bool carry_out(launch_effects& out);
  // Tells the core of ends, spares and hangs that were reported.
  void take_reports(launch_effects& out);
  bool has_reports() const noexcept { return !later_.empty() || !ended_.empty(); }

  void act(const launch_effects::start& start);
  void act(const launch_effects::start_spare& start);
  void act(const launch_effects::end_spare& end);
  void act(const launch_effects::survey& survey) { order(survey.host, survey.order); }
  void signal(policies::process_number process, policies::process_signal content);
  // Has the port told what processes have noted: run_port::begin_spans() and so on.
  void collect_spans(span_request wanted);
  // The same when a job has failed for the first time, unless that was asked for.
  void look_for_failures(const std::vector<policies::job_status>& jobs,
                         const std::set<std::string>& cancelled);
  // No process of the epoch before lives.
  void begin_epoch() {
    coordinator_port_ = 0;
    quiet_ends_.begin_epoch();
  }
  // The run is over: agents leave once what is being collected is told. `at_once`: nobody waits
  // for that, nor for agents.
  void leave(bool at_once = false);

  // Returns the processes that have ended since the last call, of which the coordinator may not
  // know.
  std::vector<launched_process> take_ended() { return std::exchange(ended_, {}); }
  // Returns whether the list of processes that live is another than at the last call.
  bool take_change() { return std::exchange(is_changed_, false); }
  std::vector<live_process> living() const;
  quiet_ends& workers_that_left() noexcept { return quiet_ends_; }
  const std::string& name(policies::host_number host) const { return contacts_[host].name(); }
  bool is_up(policies::host_number host) const { return contacts_[host].is_up(); }
  // Returns true if it was lost, or has never come up in time.
  bool is_lost(policies::host_number host) const { return !contacts_[host].may_order(); }
  bool are_gone() const;
  std::int64_t next_wake() const;

 private:
  using host_effects = policies::host_effects;

  void hear(policies::host_contact& contact, agent_event& event);
  void order(policies::host_number host, policies::agent_order content);
  bool is_current(const launched_process& process) const;
  std::string with_last_line(std::string text, const policies::process_name& name) const;

  void act(const host_effects::start_agent& start, launch_effects&) {
    world_.start_agent(start);
  }
  void act(const host_effects::end_agent& end, launch_effects&) { world_.end_agent(end.host); }
  void act(const host_effects::send& send, launch_effects&) {
    world_.send(send.over, send.frame);
  }
  void act(const host_effects::close& close, launch_effects&) {
    world_.close(close.connection);
  }
  void act(const host_effects::reported& report, launch_effects& out);
  void act(const host_effects::up& host, launch_effects& out) { core_.host_up(host.host, out); }
  void act(const host_effects::down& host, launch_effects& out);
  void act(const host_effects::stays_down& host, launch_effects&) {
    world_.event("agent_ended", host.why);
    core_.host_stays_down(host.host, host.why);
  }

  void take(const policies::agent_reports::started& started, launch_effects& out);
  void take(const policies::agent_reports::not_started& failed, launch_effects& out);
  void take(const policies::agent_reports::listens& coordinator, launch_effects& out);
  void take(policies::host_number host, const policies::agent_reports::state& copied);
  void take(policies::host_number host, const policies::agent_reports::spans& spans);
  void begin_to_collect();
  void take(policies::agent_reports::ended& end, launch_effects& out);
  void take(const policies::agent_reports::hangs& hang, launch_effects& out);
  void take(const policies::agent_reports::spare_ready& spare, launch_effects& out);
  void take(const policies::agent_reports::spare_ended& spare, launch_effects& out);

  run_port& world_;
  policies::launch_core& core_;
  std::vector<policies::host_contact> contacts_;
  std::int64_t now_ = 0;
  host_effects todo_;
  std::vector<host_effects::reported> later_;  // that take_reports() has not come to
  std::map<policies::process_number, live_process> living_;
  std::map<policies::process_number, policies::spare_number> placed_;   // spares, that start
  std::map<policies::process_number, policies::state_mirror> mirrors_;  // of workers' states
  quiet_ends quiet_ends_;
  span_collector spans_;
  bool leaves_ = false;
  std::set<std::string> failed_;  // jobs
  std::vector<launched_process> ended_;
  std::uint16_t coordinator_port_ = 0;  // as it has said in this epoch
  bool is_changed_ = false;
};

}  // namespace tidegate::launch
