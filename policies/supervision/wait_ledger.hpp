// How long the parts of a cluster have waited, and for which others. Each look finds the waits
// of that moment; a wait is as old as the first look of those that have found it without a gap.
// Waits that are younger than two seconds are not reported. One thread; time is an argument, in
// nanoseconds.
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
    std::int64_t for_ns = 0;  // how old it is when it is first found
    bool is_event = true;     // it is put into the events once it is old enough
  };

  // Replaces the waits of the last look. Returns the waits that have become old enough to be
  // reported since then, each once.
  std::vector<wait> look(std::int64_t now, const std::vector<wait>& found);
  // Returns all waits that are old enough to be reported, the longest first.
  std::vector<wait_status> reported(std::int64_t now) const;

 private:
  struct age {
    std::int64_t since = 0;
    bool reported = false;
  };
  std::map<std::pair<std::string, std::string>, age> ages_;  // by waiter and awaited
};

}  // namespace tidegate::policies
