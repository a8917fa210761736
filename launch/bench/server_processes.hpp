// The processes of a run that are no workers, as a worker of the run finds them: in the
// pids.json of the run folder. One thread.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

#include "runtime/base/status.hpp"

namespace tidegate::bench {

class server_processes {
 public:
  // Waits until `shards` shards are listed. Errors: timed_out, corrupt.
  static runtime::expected<server_processes> find(const std::string& run_dir,
                                                  std::uint32_t shards);

  // Shards to cores, round robin; none when `cpus` is empty. The coordinator, which sleeps,
  // stays free. Errors: as pin_process.
  runtime::status pin(const std::vector<int>& cpus) const;
  // Used so far by all of them, the coordinator too. One that has ended counts as 0.
  double cpu_seconds() const;

 private:
  std::vector<pid_t> shards_;
  std::vector<pid_t> others_;
};

}  // namespace tidegate::bench
