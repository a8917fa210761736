// Warm spares: processes of a job's program that have begun before they are needed, up to where
// they would join the job, and wait there. One takes the place of a worker that has died, and
// another spare is started for it.
//
// A job keeps so many on each host of its workers, because a process takes places of its own
// host only. Spares are started one after the other while all workers of the job are in, so
// that they are in nobody's way, and copies as soon as there is an original; where they die
// again and again, the pool rests. A spare holds nothing of the job: its death is no event of
// the cluster, and it outlives an epoch.
//
// The first spare of a host that can make copies of itself becomes the *original*: the others
// are its copies, which cost a fork in place of a start. It takes a place itself only where no
// copy waits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policies/launcher/effects.hpp"
#include "policies/launcher/wake_time.hpp"
#include "policies/model/process_name.hpp"
#include "policies/supervision/restarts.hpp"

namespace tidegate::policies::launching {

struct launcher_state;

class spare_pool {
 public:
  explicit spare_pool(launcher_state& state);

  // Starts a spare where one is missing, and ends those of jobs that are over; all of them once
  // the run is being ended.
  void go_on(std::int64_t now, launch_effects& out);
  // Returns the spare that is to take the place of this worker, and counts it out: one that
  // waits for a place, the original last; else, of a program that makes no copies, the oldest
  // that is on its way there, as the next would be no sooner. no_spare without one.
  spare_number take(process_number process);
  // The spare waits for a place.
  void ready(spare_number spare, bool can_copy);
  // The spare has ended, or could not be started, unless it has been taken.
  void ended(std::int64_t now, spare_number spare, const std::string& why, launch_effects& out);

  // The host is lost, and its spares with it.
  void lost(host_number host);

  bool empty() const noexcept { return spares_.empty(); }
  std::int64_t next_wake() const;

 private:
  // Whether processes of a program can make copies of themselves that are of use.
  enum class copying : std::uint8_t { unknown, yes, no };
  // A job on a host. `rank`: of a worker that is there.
  struct site {
    std::string job;
    std::string host;
    host_number number = 0;  // of the agent that starts its processes
    std::uint32_t rank = 0;
    std::uint32_t wanted = 0;
    copying copies = copying::unknown;
    restart_intensity deaths;
    std::int64_t rests_until = 0;
  };
  struct spare {
    spare_number number = no_spare;
    std::size_t site = 0;
    std::int64_t started_at = 0;
    bool is_ready = false;
    bool is_original = false;
    bool is_copy = false;
    bool is_ending = false;
  };

  void end(spare& which, launch_effects& out);
  void count_death(site& at, std::int64_t now, const std::string& why, launch_effects& out);
  void check_copies(std::int64_t now, launch_effects& out);
  bool is_late(const spare& each, std::int64_t now) const;
  spare_number original_of(std::size_t at) const;
  bool may_have_spares(const site& at) const;
  bool may_start(const site& at, bool is_copy) const;
  bool is_starting(std::size_t at) const;
  std::uint32_t count(std::size_t at) const;

  launcher_state& state_;
  std::vector<site> sites_;
  std::vector<spare> spares_;  // that live, the oldest first
  spare_number last_ = no_spare;
  std::int64_t decided_at_ = 0;
};

}  // namespace tidegate::policies::launching
