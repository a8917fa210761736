// Tells the coordinator which peers a member cannot reach (policies/reachability_judge), and
// when pushes came in (policies/shard/arrival_book). Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <caf/all.hpp>

#include "actors/control/coordinator_locator.hpp"
#include "actors/control/messages.hpp"

namespace tidegate::actors {

// `coordinator`: null in tests that are one process; then nobody is told. `run`: its token.
// `address`: of the member's link.
inline void report_outages(const std::shared_ptr<coordinator_locator>& coordinator,
                           std::uint64_t run, const std::string& address,
                           const unreachable_peers& peers) {
  if (coordinator)
    caf::anon_send(coordinator->now(), unreachable_atom::value, run, address, peers);
}

inline void tell_arrivals(const std::shared_ptr<coordinator_locator>& coordinator,
                          std::uint64_t run, const std::string& address,
                          const policies::shard_report& report) {
  if (coordinator)
    caf::anon_send(coordinator->now(), arrivals_atom::value, run, address, report);
}

}  // namespace tidegate::actors
