// The hosts of a run: which of them may have processes now, and on which each process is. A
// process has a home. While that is lost it goes to another host that has room, the emptiest;
// processes of one shard's chain go to different hosts, where there are any. The coordinator
// stays at home, as its address is known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policies/launcher/effects.hpp"
#include "policies/launcher/wake_time.hpp"
#include "policies/model/process_name.hpp"

namespace tidegate::policies::launching {

struct launcher_state;

class host_list {
 public:
  explicit host_list(launcher_state& state);

  // launch_core::host_up(), host_down(), host_stays_down().
  void up(host_number host, launch_effects& out);
  void down(std::int64_t now, host_number host, const std::string& why, launch_effects& out);
  void stays_down(host_number host, const std::string& why) { hosts_[host].lost = why; }
  // Ends the run where a process has waited too long for a host.
  void check(std::int64_t now, launch_effects& out);

  // Returns where the process is to be started now; nothing if no host can take it.
  std::optional<host_number> choose(process_number process) const;
  // The process is to be started there. Returns true if it was somewhere else before, or there
  // before the host was lost: what it has kept is not there. Returns the same until arrived().
  bool place(process_number process, host_number host);
  // The process has been started where it was placed.
  void arrived(process_number process) { places_[process]->is_new = false; }
  host_number host_of(process_number process) const;
  std::vector<process_number> processes_on(host_number host) const;
  // Returns the host's name as the cluster has it: that of the worker's home, or of where it
  // was moved to.
  std::string name_at(process_number worker) const;
  bool is_usable(host_number host) const { return hosts_[host].lost.empty(); }
  host_number home_of(const process_name& name) const;
  std::int64_t next_wake() const;

 private:
  struct host_state {
    bool was_up = false;
    std::string lost;          // why it is; empty: it may be used
    std::uint32_t losses = 0;  // so far
  };
  struct process_place {
    host_number host = 0;
    std::uint32_t losses = 0;  // of the host, by then
    bool is_new = false;       // it was not started there yet, and somewhere else before
  };

  std::uint32_t guests_of(host_number host) const;
  bool has_room(host_number host) const;
  bool has_chain_of(host_number host, const process_name& name) const;
  bool is_on(process_number process, host_number host) const;

  launcher_state& state_;
  std::vector<host_state> hosts_;
  std::vector<std::optional<process_place>> places_;  // by process: where it was started last
};

}  // namespace tidegate::policies::launching
