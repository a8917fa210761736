// Which process ends when processes that live cannot reach each other.
//
// A member whose connection to a peer broke tries to connect again for as long as both live,
// and reports the outage to the coordinator, once a second. When an outage has lasted for
// `unreachable` and half of it more, the judge condemns one of the two: it is killed, and what
// takes its place is fenced and restored as after any death. The half is the launcher's: by
// then it counts a host that is cut off as lost, and its processes as dead, and nobody is
// condemned because such a process does not answer. The judge condemns the member that was
// condemned less often, so that a network that stays divided does not end the same side for
// ever; then the one with the most outages, because a process that is cut off from several
// peers is the one that is cut off; then the one whose loss costs least. It judges what it has
// known for a while: a coordinator that has just begun hears of outages one after the other.
//
// Members are known by the addresses of their links. A process may have several (shards that
// move); they share its name, and are condemned together. One thread; time is an argument, in
// nanoseconds of a clock that never goes back.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "policies/model/millisecond.hpp"

namespace tidegate::policies {

// A peer that the reporter cannot reach, for so long already.
struct unreachable_peer {
  std::string address;
  std::int64_t for_ns = 0;
};

// What it costs to lose a process, from the cheapest on.
enum class loss_cost : std::uint8_t {
  replica,        // is set up again beside the job
  aggregator,     // keeps nothing that others do not have
  worker,         // computes its clock again
  primary,        // a replica is promoted
  going_back,     // all go back to a checkpoint
  ending_the_job  // nobody comes back from it
};

class reachability_judge {
 public:
  struct outage {
    std::string reporter;
    std::string peer;
    std::int64_t for_ns = 0;  // when it was reported
    std::int64_t reported_at = 0;
    std::int64_t first_reported_at = 0;  // of reports without a gap
  };
  // A living member. `name` is its process's, and stays the same when that is replaced; `cost`
  // is of losing the whole process.
  struct member {
    std::string name;
    loss_cost cost = loss_cost::worker;
  };
  struct verdict {
    std::string condemned;  // address of a member of the process
    std::string name;       // of the process
    std::string peer;       // name of the other side of the longest outage
    std::int64_t for_ns = 0;
  };
  // Returns nothing for an address of no living member.
  using find_member = std::function<std::optional<member>(const std::string& address)>;

  // A report that is not repeated counts for so long: after that the reporter has a connection,
  // or has ended.
  static constexpr std::int64_t report_lasts_ns = 3000 * millisecond;
  // An outage is judged when it has been reported for so long: two reports of each member fit.
  static constexpr std::int64_t known_for_ns = 2000 * millisecond;

  explicit reachability_judge(std::int64_t unreachable_ns) : unreachable_ns_(unreachable_ns) {}

  // Returns how long an outage lasts when it is judged.
  static constexpr std::int64_t judged_after(std::int64_t unreachable_ns) noexcept {
    return unreachable_ns + unreachable_ns / 2;
  }

  // Replaces what this member reported before.
  void report(const std::string& reporter, std::span<const unreachable_peer> peers,
              std::int64_t now);
  // Returns the next process that is to end, which is condemned only once. To be called until
  // it returns nothing.
  std::optional<verdict> judge(std::int64_t now, const find_member& find);
  // Returns the outages that count now, between members that are not condemned, in the order of
  // their addresses.
  std::vector<outage> outages(std::int64_t now) const;

 private:
  std::int64_t unreachable_ns_;
  std::map<std::pair<std::string, std::string>, outage> outages_;  // by reporter and peer
  std::set<std::string> condemned_;                                // addresses
  std::map<std::string, std::uint32_t> condemnations_;             // by name
};

}  // namespace tidegate::policies
