// The processes of a run as somebody beside it sees them: pids.json, and /proc to be sure that
// a pid is still what pids.json says. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launch/processes/process_records.hpp"
#include "policies/supervision/chaos_core.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::chaos {

// Whether `environment`, as in /proc/PID/environ, is that of process `name` of the run in the
// absolute path `run_dir`: the launcher has told it so. What a worker starts inherits it, but
// leads no process group of its own.
bool belongs_to_run(std::string_view environment, const std::string& run_dir,
                    const policies::process_name& name);

class members {
 public:
  // Errors: not_found (no such folder).
  static runtime::expected<members> of_run(const std::string& run_dir);

  const std::string& run_dir() const noexcept { return run_dir_; }  // absolute
  bool has_ended() const;                                           // it has a result

  // Those of pids.json that live and are of this run. Errors: not_found (no pids.json yet),
  // io_error, corrupt.
  runtime::expected<std::vector<policies::chaos_target>> living() const;

 private:
  std::string run_dir_;
};

// To the process and what it has started (its group), once it is sure that the pid is still its
// own. Errors: not_found (it is gone), refused (not permitted).
runtime::status send_signal(const policies::chaos_target& to, int number);

}  // namespace tidegate::chaos
