// Reports the peers that a shell cannot reach, while there are any. One thread.
#pragma once

#include <vector>

#include "actors/seam/shell_home.hpp"
#include "policies/supervision/outage_reports.hpp"
#include "policies/supervision/reachability_judge.hpp"

namespace tidegate::actors {

class outage_watch {
 public:
  explicit outage_watch(shell_home& home) : home_(home) {}

  // Adds what a core tells of its outages to the next report. `address_of(key)` returns the
  // address of a peer.
  template <class Core, class AddressOf>
  void add(const Core& core, const AddressOf& address_of) {
    const auto now = home_.now();
    for (const auto& outage : core.outages(now, policies::outage_reports::after_ns))
      peers_.push_back({.address = address_of(outage.key), .for_ns = now - outage.since_ns});
  }
  // Sends the report if it is due. To be called at every look.
  void report() {
    if (!peers_.empty() && reports_.is_due(home_.now())) home_.report_unreachable(peers_);
    peers_.clear();
  }

 private:
  shell_home& home_;
  policies::outage_reports reports_;
  std::vector<policies::unreachable_peer> peers_;
};

}  // namespace tidegate::actors
