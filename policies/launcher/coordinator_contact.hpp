// How the launcher hears of the coordinator: whether it polls, which polls have been answered,
// and whether the coordinator has died and the next one has not answered.
#pragma once

#include <cstdint>

#include "policies/launcher/effects.hpp"
#include "policies/model/process_name.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies::launching {

struct launcher_state;

class coordinator_contact {
 public:
  explicit coordinator_contact(launcher_state& state) : state_(state) {}

  // Asks for polls from now on: all processes are started.
  void begin_polls(launch_effects& out);
  // launch_core::polled(), unreachable().
  void polled(std::int64_t now, const coordinator_news& news, launch_effects& out);
  void unreachable(std::int64_t now, const runtime::status& why, launch_effects& out);
  // Takes in that a process has ended, of which the coordinator may know more: a poll is
  // wanted.
  void ended(process_number process);
  // Has the next poll_if_wanted() ask for one poll without delay.
  void want_poll() { poll_wanted_ = true; }
  void poll_if_wanted(launch_effects& out);
  // Returns true once after the next coordinator has answered.
  bool take_return();
  // Ends the polls: the epoch is over, and the coordinator with it.
  void stop_polls();
  // Counts polls anew: the next epoch begins.
  void begin_anew();

  bool is_polling() const { return polling_; }
  // Returns true while the coordinator has died and the next one has not answered: what is
  // known of jobs is old, and no time is up because of it.
  bool is_away() const { return away_; }
  // Returns true if the coordinator lives and has answered the latest poll.
  bool is_well() const { return healthy_ && !away_; }
  // Returns the number of the poll that is asked for next.
  std::uint64_t next_poll() const { return polls_ + 1; }
  // Return true if this poll, or the latest one, has been answered: the state of jobs is then
  // as of after the poll was asked for.
  bool has_answered(std::uint64_t poll) const { return answered_ >= poll; }
  bool has_answered_all() const { return answered_ >= polls_; }

 private:
  launcher_state& state_;
  bool healthy_ = true;
  bool polling_ = false;
  bool poll_wanted_ = false;  // a process has ended since
  bool away_ = false;
  bool is_back_ = false;     // since take_return()
  std::uint64_t polls_ = 0;  // asked for
  std::uint64_t answered_ = 0;
};

}  // namespace tidegate::policies::launching
