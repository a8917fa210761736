// The loop around policies::launch_core, without the world: it tells the core in one order all
// that has happened, and carries out in one order all that the core decides, through
// run_port.hpp; processes through the agents of their hosts
// (policies/launcher/host_contact.hpp).
//
// A turn tells all that has happened since the last one. After each turn the pids of the run
// folder are those of the processes that live, whatever becomes of the launcher. One thread.
//
// Time is an argument: nanoseconds of a clock that never goes back (awake_clock.hpp).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "launch/shell/awake_clock.hpp"
#include "launch/shell/run_hosts.hpp"
#include "launch/shell/run_port.hpp"

namespace tidegate::launch {

// Other numbers of workers or shards are asked for.
struct scale_request {
  std::uint32_t asker = 0;
  std::string job;           // empty: shards
  std::uint32_t number = 0;  // of workers, or of slots of shards
};

// A job is to end, while others go on.
struct cancel_request {
  std::uint32_t asker = 0;
  std::string job;
};

// What has happened since the last turn.
struct run_turn {
  struct signal {
    std::string name;
    bool saves = false;  // see launch_core::interrupted
    bool once = false;   // it says nothing to a run that is ending
  };
  std::vector<signal> signals;
  std::optional<poll_news> news;
  std::vector<scale_request> requests;
  std::vector<cancel_request> cancels;
  std::vector<span_request> traces;
};

class run_shell {
 public:
  // `launcher`: drawn, not 0, another one for each launcher. The first host of the plan, which
  // it need not name, is the launcher's own (inner_agent.hpp). `world` outlives it.
  run_shell(policies::launch_plan plan, run_port& world, std::uint64_t launcher);

  void begin(std::int64_t now);
  void turn(std::int64_t now, run_turn happened);
  // Carries out a fault on purpose: to that process, if it lives.
  void disturb(const policies::process_name& process, policies::process_signal content);
  // Has what processes have noted collected: run_port::begin_spans() and so on.
  void collect_spans(span_request wanted);
  // The last news, when everything has ended.
  void conclude(std::int64_t now, poll_news news);

  // Returns when a turn is due although nothing has happened; launch_core::never if none is.
  std::int64_t next_wake() const;

  const policies::launch_core& core() const noexcept { return core_; }
  bool is_up(policies::host_number host) const { return hosts_.is_up(host); }
  bool is_lost(policies::host_number host) const { return hosts_.is_lost(host); }
  // Returns the processes that live, on all hosts.
  std::vector<live_process> living() const { return hosts_.living(); }
  // Returns how the run has ended, once every process has, and every agent.
  const policies::launch_effects::conclude* ended() const noexcept;

 private:
  using effects = policies::launch_effects;
  struct scaling {
    scale_request wanted;
    bool asked = false;

    bool of_shards() const noexcept { return wanted.job.empty(); }
  };

  void pass_time(std::int64_t now);
  void take_signals(const std::vector<run_turn::signal>& signals);
  void take_news(poll_news news);
  void take_cancels(const std::vector<cancel_request>& cancels);
  void tell_who_left(const std::string& job);
  void answer_cancel(const std::string& job, const std::string& line);
  void decide();
  void take_reports();
  void carry_out();
  void keep_pids();

  void act(const effects::start& start) { hosts_.act(start); }
  void act(const effects::start_spare& start) { hosts_.act(start); }
  void act(const effects::end_spare& end) { hosts_.act(end); }
  void act(const effects::survey& survey) { hosts_.act(survey); }
  void act(const effects::renew& renewal);
  void act(const effects::watch&);
  void act(const effects::poll_now&);
  void act(const effects::stop_cluster& stop);
  void act(const effects::leave& leave);
  void act(const effects::fail_job& failure);
  void act(const effects::record_cancelled& ended);
  void act(const effects::was_done& job);
  void act(const effects::save& save);
  void act(const effects::terminate& end) {
    hosts_.signal(end.process, policies::process_signal::terminate);
  }
  void act(const effects::kill& end) {
    hosts_.signal(end.process, policies::process_signal::kill);
  }
  void act(const effects::note& note);
  void act(const effects::complain& complaint);
  void act(const effects::show_log& log);
  void act(const effects::show_agent_log& log);
  void act(const effects::conclude& conclusion);

  void ask(const launch_question& question, policies::process_number process = 0);
  void answered(std::uint64_t number, const runtime::status& result);
  // More or fewer workers or shards, run_scaling.cpp: one request after the other.
  void ask_to_scale();
  void scaled(const runtime::status& result);

  run_port& world_;
  policies::launch_core core_;
  run_hosts hosts_;
  std::int64_t now_ = 0;  // of this turn, for the core
  awake_clock clock_;
  effects todo_;
  bool polls_ = false;  // the coordinator, again and again
  bool pids_changed_ = false;
  struct open_question {
    launch_question content;
    policies::process_number process = 0;
  };
  std::map<std::uint64_t, open_question> asked_;
  std::deque<scaling> scalings_;
  std::vector<cancel_request> cancels_;          // not answered yet
  std::optional<effects::conclude> conclusion_;  // once every process has ended
};

}  // namespace tidegate::launch
