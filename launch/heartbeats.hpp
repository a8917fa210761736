// The heartbeats of a run's processes: a page for each life of each, and what the detector
// makes of them. Main thread only.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "policies/hang_detector.hpp"
#include "runtime/heartbeat/beat_page.hpp"

namespace tidegate::launch {

class heartbeats {
 public:
  // 0: nobody is to beat, and nobody hangs.
  explicit heartbeats(std::uint32_t timeout_ms) : detector_(timeout_ms) {}

  // A page for a process that is about to be started, in place of that of its life before: the
  // descriptor to inherit; -1: none is needed. Errors: io_error.
  runtime::expected<int> prepare(policies::process_number process, std::uint64_t token);
  // It has been, or could not be: its descriptor is needed no more here.
  void started(policies::process_number process);
  void ended(policies::process_number process) { pages_.erase(process); }

  // Those that have been found to hang since the last call.
  std::vector<policies::hang> look(std::int64_t now);
  std::int64_t next_look() const noexcept { return detector_.next_look(); }

 private:
  policies::hang_detector detector_;
  std::map<policies::process_number, runtime::beat_page> pages_;
};

}  // namespace tidegate::launch
