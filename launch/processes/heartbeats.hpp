// The heartbeats of a run's processes: a page for each incarnation of each. Main thread only.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "policies/supervision/hang_detector.hpp"
#include "runtime/heartbeat/beat_page.hpp"

namespace tidegate::launch {

class heartbeats {
 public:
  // A page for a process that is about to be started, in place of that of its incarnation
  // before. Returns the descriptor to inherit. Errors: io_error.
  runtime::expected<int> prepare(policies::process_number process, std::uint64_t token);
  // It has been, or could not be: its descriptor is needed no more here.
  void started(policies::process_number process);
  void ended(policies::process_number process) { pages_.erase(process); }

  std::vector<policies::beat_reading> readings() const;

 private:
  std::map<policies::process_number, runtime::beat_page> pages_;
};

}  // namespace tidegate::launch
