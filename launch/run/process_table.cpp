#include "launch/run/process_table.hpp"

#include <signal.h>
#include <sys/wait.h>

#include "runtime/process/process_stat.hpp"

namespace tidegate::launch {

namespace {

// From <linux/wait.h>; glibc's idtype_t has it since 2.36 only.
constexpr auto by_pid_fd = static_cast<idtype_t>(3);

}  // namespace

process_table::~process_table() {
  for (const auto& c : children_) ::kill(-c.process.pid, SIGKILL);
  for (const auto& c : children_) ::waitpid(c.process.pid, nullptr, 0);
}

runtime::expected<pid_t> process_table::start(const launched_process& member,
                                              const process_name& name,
                                              const spawn_request& request) {
  auto process = spawn(request);
  if (!process) return runtime::fail(process.error());
  const auto pid = process->pid;
  const auto stat = runtime::stat_of(pid);  // it is there until it is reaped
  children_.push_back({member, name, std::move(*process), stat ? stat->started : 0});
  return pid;
}

std::vector<process_end> process_table::reap() {
  std::vector<process_end> ends;
  for (auto& c : children_) {
    siginfo_t info = {};
    const auto id = static_cast<id_t>(c.process.pid_fd.get());
    if (::waitid(by_pid_fd, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
      continue;
    }
    // Before the pid is given back: until then the group cannot be anybody else's.
    ::kill(-c.process.pid, SIGKILL);
    ::waitid(by_pid_fd, id, &info, WEXITED);
    ends.push_back({c.launched.process, c.name, c.process.pid, info.si_code != CLD_EXITED,
                    info.si_status});
    c.process.pid = -1;
  }
  std::erase_if(children_, [](const auto& c) { return c.process.pid == -1; });
  return ends;
}

void process_table::signal(const child& entry, int number) {
  ::kill(-entry.process.pid, number);
  // A stopped process would keep a SIGTERM waiting.
  if (number == SIGTERM) ::kill(-entry.process.pid, SIGCONT);
}

void process_table::signal(const launched_process& process, int number) const {
  for (const auto& c : children_)
    if (c.launched.process == process.process && c.launched.incarnation == process.incarnation)
      signal(c, number);
}

void process_table::signal(const process_name& process, int number) const {
  for (const auto& c : children_)
    if (c.name == process) signal(c, number);
}

std::vector<live_process> process_table::list() const {
  std::vector<live_process> all;
  for (const auto& c : children_) all.push_back({c.name, c.process.pid, c.started});
  return all;
}

void process_table::add_to(std::vector<pollfd>& fds) const {
  for (const auto& c : children_) fds.push_back({c.process.pid_fd.get(), POLLIN, 0});
}

}  // namespace tidegate::launch
