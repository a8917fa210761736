// The loop around policies::launch_core, without the world: it tells the core in one order all
// that has happened, and carries out in one order all that the core decides, through
// run_port.hpp.
//
// A turn tells all that has happened since the last one. After each turn the pids of the run
// folder are those of the processes that live, whatever becomes of the launcher. One thread.
//
// Time is an argument: nanoseconds of a clock that never goes back. While a launcher is stopped
// (SIGSTOP, a machine that swaps) it hears nothing, and no time of the core passes: otherwise
// it would judge by old news that others are late.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launch/shell/run_port.hpp"

namespace tidegate::launch {

// Other numbers of workers or shards are asked for.
struct scale_request {
  std::uint32_t asker = 0;
  std::string job;           // empty: shards
  std::uint32_t number = 0;  // of workers, or of slots of shards
};

// What has happened since the last turn.
struct run_turn {
  struct signal {
    std::string name;
    bool saves = false;  // see launch_core::interrupted
  };
  struct end {
    policies::process_number process = 0;
    policies::process_exit exit;
  };
  std::vector<signal> signals;
  bool coordinator_ready = false;
  std::string coordinator_unusable;  // why; empty: it is not
  std::optional<poll_news> news;
  std::vector<end> ends;
  // Of spares that wait for a place now, and that have ended without one.
  struct spare_end {
    policies::spare_number spare = policies::no_spare;
    std::string why;
  };
  struct spare_waits {
    policies::spare_number spare = policies::no_spare;
    bool can_copy = false;
  };
  std::vector<spare_waits> spares_ready;
  std::vector<spare_end> spare_ends;
  std::vector<scale_request> requests;
};

class run_shell {
 public:
  // `heartbeat_timeout_ms` 0: nobody beats, and nobody hangs.
  run_shell(policies::launch_plan plan, run_port& world, std::uint32_t heartbeat_timeout_ms);

  void begin(std::int64_t now);
  void turn(std::int64_t now, run_turn happened);
  // The last news, when everything has ended.
  void conclude(std::int64_t now, poll_news news);

  // Returns when a turn is due although nothing has happened; launch_core::never if none is.
  std::int64_t next_wake() const;

  const policies::launch_core& core() const noexcept { return core_; }
  // Returns how the run has ended, once every process has.
  const std::optional<policies::launch_effects::conclude>& ended() const noexcept {
    return end_;
  }
  bool expects_beats() const { return hangs_.next_look() != policies::hang_detector::never; }

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
  void take_ends(std::vector<run_turn::end>& ends);
  void look_for_hangs();
  void decide();
  void carry_out();
  void keep_pids();

  void act(const effects::start& start);
  void act(const effects::start_spare& start);
  void act(const effects::end_spare& end);
  void act(const effects::renew& renewal);
  void act(const effects::watch&);
  void act(const effects::poll_now&);
  void act(const effects::stop_cluster& stop);
  void act(const effects::leave& leave);
  void act(const effects::save& save);
  void act(const effects::terminate& end);
  void act(const effects::kill& end);
  void act(const effects::note& note);
  void act(const effects::complain& complaint);
  void act(const effects::show_log& log);
  void act(const effects::conclude& conclusion);

  void ask(const launch_question& question, policies::process_number process = 0);
  void answered(std::uint64_t number, const runtime::status& result);
  launched_process launched_of(policies::process_number process) const {
    return {process, core_.incarnation(process)};
  }
  // More or fewer workers or shards, run_scaling.cpp: one request after the other.
  void ask_to_scale();
  void scaled(const runtime::status& result);

  run_port& world_;
  policies::launch_core core_;
  policies::hang_detector hangs_;
  std::int64_t now_ = 0;      // of this turn, for the core
  std::int64_t stopped_ = 0;  // so long has the launcher been, in all
  effects todo_;
  bool pids_changed_ = false;
  struct open_question {
    launch_question content;
    policies::process_number process = 0;
  };
  std::map<std::uint64_t, open_question> asked_;
  std::deque<scaling> scalings_;
  std::optional<effects::conclude> end_;
};

}  // namespace tidegate::launch
