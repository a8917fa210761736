// Which processes an earlier launcher of a run, or an earlier agent of a host, has left behind:
// the processes that it started and the processes that those started, but none that merely has
// their environment. Pure, any thread.
//
// The environment alone says too little: whatever is started from a shell of a worker inherits
// it, a tmux server for instance, and all that is started there for weeks. So a process counts
// only if its environment has the secret token of that launcher, it began after the launcher
// did, and it is still where the kernel put what the launcher started: in the launcher's
// session, or in the session or process group of a process that the launcher listed. Whatever
// has gone into a session of its own (setsid) has left the run; the epoch and the token keep it
// out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tidegate::policies {

// What a launcher writes down about itself, for the launcher after it.
struct launcher_mark {
  std::int32_t pid = 0;
  std::uint64_t started = 0;  // clock ticks since the machine started
  std::int32_t session = 0;
  std::string token;  // as in TIDEGATE_TOKEN
  // The host whose agent it is, by its name in the cluster: only what runs there is its own.
  // Empty: it is a launcher.
  std::string host = {};
  // Where its pids mean something, see runtime::machine_of_pids(); empty: it did not say.
  std::string machine = {};
};

// What the kernel says of a process. `environment` is the caller's.
struct process_facts {
  std::int32_t pid = 0;
  std::int32_t group = 0;
  std::int32_t session = 0;
  std::uint64_t started = 0;
  std::string_view environment;  // entries, each with a 0 after it
};

// Returns true if the earlier launcher has left this process behind. `run_dirs` are the texts
// that TIDEGATE_RUN_DIR may have for the run's folder, `listed` the pids in pids.json.
bool is_leftover(const process_facts& found, const launcher_mark& earlier,
                 const std::vector<std::string>& run_dirs,
                 const std::vector<std::int32_t>& listed);

}  // namespace tidegate::policies
