// The spares of a run that live and have no place yet. Main thread only (see spawn.hpp). Ends
// them all when destroyed.
#pragma once

#include <optional>
#include <poll.h>
#include <string>
#include <vector>

#include "launch/processes/spawn.hpp"
#include "launch/shell/agent_shell.hpp"
#include "policies/model/process_name.hpp"
#include "runtime/base/status.hpp"
#include "runtime/process/spare.hpp"

namespace tidegate::launch {

class spare_processes {
 public:
  spare_processes() = default;
  spare_processes(const spare_processes&) = delete;
  spare_processes& operator=(const spare_processes&) = delete;
  ~spare_processes();

  // Starts a spare of a job; `request` has the process's end of the channel. Errors: as spawn.
  runtime::status start(policies::spare_number number, const std::string& job,
                        const spawn_request& request, runtime::spare_channel channel);
  // Has a spare make a copy of itself. Errors: not_found (it has ended), those of
  // spare_channel.
  runtime::status copy(policies::spare_number original, policies::spare_number number);
  // Returns the environment that the spare was started with; null where it has ended.
  const std::vector<std::string>* environment(policies::spare_number number) const;
  // Gives the spare its place. Returns the process, which is a spare no more. Errors:
  // unavailable (it has ended, or has not begun), those of spare_channel::give; it stays a
  // spare then, which may be ended, and its end is told.
  runtime::expected<spawned> give(policies::spare_number number,
                                  const runtime::spare_place& place);
  bool has(pid_t pid) const;
  // Ends the spare (SIGKILL), if it lives.
  void end(policies::spare_number number);
  // Ends all of them (SIGKILL); read() tells when each has ended.
  void end_all();
  bool empty() const noexcept { return spares_.empty(); }
  // Adds what has happened to spares since the last call.
  void read(agent_turn& into);
  // Adds descriptors that become readable when a spare says that it waits, or ends.
  void add_to(std::vector<pollfd>& fds) const;

 private:
  struct spare {
    policies::spare_number number = policies::no_spare;
    std::string job;
    std::vector<std::string> environment;
    spawned process;  // pid -1: a copy that has not said a word yet
    runtime::spare_channel channel;
    std::string reason;  // why it was killed
    bool is_ready = false;
    bool is_copy = false;
    bool is_over = false;
  };
  spare* find(policies::spare_number number);
  static void end_process(spare& each);
  static void hear(spare& each, agent_turn& into);
  static std::optional<std::string> end_of(spare& each);

  std::vector<spare> spares_;
};

}  // namespace tidegate::launch
