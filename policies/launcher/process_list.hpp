// The processes of a run by number: the name of each, its state, which incarnation it is, and
// why it was killed. Processes that the run did not begin with follow the others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policies/launcher/effects.hpp"
#include "policies/launcher/plan.hpp"
#include "policies/model/cluster_status.hpp"
#include "policies/model/process_name.hpp"

namespace tidegate::policies::launching {

struct launcher_state;

enum class process_state : std::uint8_t {
  waiting,
  starting,
  alive,
  resting,
  leaving,  // dead; the coordinator has not yet said that the others go on without it
  gone,
  unused,  // not of its job, so far or any more
};

class process_list {
 public:
  explicit process_list(launcher_state& state);

  process_number size() const { return static_cast<process_number>(names_.size()); }
  const std::vector<process_name>& names() const { return names_; }
  const process_name& name(process_number process) const { return names_[process]; }
  process_role role(process_number process) const { return names_[process].role; }
  bool is_worker(process_number process) const { return role(process) == process_role::worker; }
  std::uint32_t incarnation(process_number process) const { return incarnations_.at(process); }
  // Takes the incarnation that is to be started next, one above the last, and returns it.
  std::uint32_t next_incarnation(process_number process) { return ++incarnations_[process]; }
  process_state state(process_number process) const { return states_[process]; }
  bool is(process_number process, process_state state) const {
    return states_[process] == state;
  }
  void set(process_number process, process_state state) { states_[process] = state; }
  // Adds a process that is unused so far.
  void add(const process_name& name);
  // Puts all processes back to where a run begins, each with its next incarnation: processes of
  // the plan wait, later ones are unused.
  void begin_anew();

  // Ask for a process to be started, which perhaps joins anew, or for the others to go on
  // without it.
  void start(process_number process, launch_effects& out, bool joins = false);
  void leave(process_number process, launch_effects& out);
  // Take in how a start went; asserted: the process was to be started.
  void started(process_number process);
  void could_not_start(process_number process);
  // Takes in that a process that was alive (asserted) has ended. Returns why it was killed; an
  // empty text if it was not.
  std::string ended(process_number process);
  // launch_core::hangs(), condemned().
  void hangs(process_number process, std::int64_t silent_ns, launch_effects& out);
  void condemned(const condemned_process& sentence, launch_effects& out);
  // Kills a process; the text of its end will say `reason`.
  void kill(process_number process, const std::string& reason, launch_effects& out);
  // Kills processes that have had their time to end, and notes that.
  void kill_late(const std::vector<process_number>& left, launch_effects& out) const;
  bool is_killed(process_number process) const { return !killed_as_[process].empty(); }

  // Returns the first process in this state; size() if no process is.
  process_number first(process_state state) const;
  bool any_starting() const { return first(process_state::starting) < size(); }
  std::vector<process_number> alive() const;
  bool any_worker_alive() const;
  std::uint32_t workers_alive(const std::string& job) const;

 private:
  launcher_state& state_;
  // All by process.
  std::vector<process_name> names_;
  std::vector<process_state> states_;
  std::vector<std::uint32_t> incarnations_;
  std::vector<std::string> killed_as_;  // why it was killed, or empty
};

}  // namespace tidegate::policies::launching
