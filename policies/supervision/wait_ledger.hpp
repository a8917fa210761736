// How long the parts of a cluster have waited, and for whom. Each look says what is waited for
// now; a wait that every look since has found is that old. Waits that are younger than two
// seconds are nobody's business. One thread; time is an argument, in nanoseconds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "policies/model/cluster_status.hpp"
#include "policies/model/millisecond.hpp"

namespace tidegate::policies {

class wait_ledger {
 public:
  static constexpr std::int64_t told_after_ns = 2000 * millisecond;

  struct wait {
    std::string waiter;       // "job mlp", "worker-mlp-1"
    std::string awaited;      // "worker-mlp-0 to join"
    std::int64_t for_ns = 0;  // already, when it is first found
    bool is_event = true;     // events tell of it once it is old enough
  };

  // Replaces what was waited for. Returns those that have become old enough to be told since
  // the last look.
  std::vector<wait> look(std::int64_t now, const std::vector<wait>& found);
  // Those that are old enough, the longest first.
  std::vector<wait_status> reported(std::int64_t now) const;

 private:
  struct age {
    std::int64_t since = 0;
    bool reported = false;
  };
  std::map<std::pair<std::string, std::string>, age> ages_;  // by waiter and awaited
};

}  // namespace tidegate::policies
