// More or fewer workers, or slots of shards, than the run began with: which processes are
// wanted, which are sent away, and which are started in addition.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "policies/launcher/effects.hpp"
#include "policies/launcher/wake_time.hpp"
#include "policies/model/process_name.hpp"

namespace tidegate::policies::launching {

struct launcher_state;

class scaler {
 public:
  explicit scaler(launcher_state& state);

  // launch_core::scale(), may_scale(), scale_shards(), may_scale_shards().
  bool scale(const std::string& job, std::uint32_t workers, launch_effects& out);
  bool may_scale(const std::string& job) const;
  bool scale_shards(std::uint32_t slots, launch_effects& out);
  bool may_scale_shards() const;
  // Takes in that a process of a slot has ended as the coordinator told it to. go_on() starts
  // it again if it is wanted by then.
  void slot_ended(process_number process);
  // Goes on with processes that are to end, and starts slots again that are wanted.
  void go_on(std::int64_t now, launch_effects& out);
  // Forgets the processes that were asked to end, because everything ends.
  void forget_unwanted() { unwanted_.clear(); }
  // Goes back to what the plan wants.
  void begin_anew();

  // Returns true if the process has been asked to end because it is one too many.
  bool is_unwanted(process_number process) const;
  // Returns true if the process is a worker whose rank is not below the number that scale() has
  // set for its job. If such a worker dies, its job goes on without it.
  bool is_surplus(process_number process) const;
  // Returns true if the process is a worker that the plan does not have, while jobs run: its
  // job goes as well without it.
  bool is_extra(process_number process) const;
  // Returns true if shards move, and the process serves shards in a slot that is not of the
  // first `slots`.
  bool is_beyond(const process_name& name, std::uint32_t slots) const;
  std::int64_t next_wake() const;

 private:
  void start_if_unused(const process_name& name, launch_effects& out);
  void start_slots(launch_effects& out);
  void send_away(process_number process, launch_effects& out);
  void end_unwanted(std::int64_t now, launch_effects& out);

  launcher_state& state_;
  std::uint32_t slots_wanted_;                   // of processes that have shards
  bool slot_ended_ = false;                      // since go_on()
  std::map<std::string, std::uint32_t> wanted_;  // workers, by job, since scale()
  std::vector<timed_process> unwanted_;          // asked to end; ended by force at that time
};

}  // namespace tidegate::policies::launching
