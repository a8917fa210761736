#include "launch/processes/process_table.hpp"

#include <algorithm>
#include <signal.h>
#include <sys/wait.h>

#include "runtime/process/process_stat.hpp"

namespace tidegate::launch {

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
  adopt(member, name, std::move(*process));
  return pid;
}

void process_table::adopt(const launched_process& member, const process_name& name,
                          spawned process) {
  const auto stat = runtime::stat_of(process.pid);  // it is there until it is reaped
  children_.push_back({member, name, std::move(process), stat ? stat->started : 0});
}

std::vector<process_end> process_table::reap() {
  std::vector<process_end> ends;
  for (auto& c : children_) {
    const auto result = launch::reap(c.process);
    if (!result) continue;
    ends.push_back({.process = c.launched.process,
                    .incarnation = c.launched.incarnation,
                    .name = c.name,
                    .pid = c.process.pid,
                    .by_signal = result->by_signal,
                    .code = result->code});
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

void process_table::end_all() const {
  for (const auto& c : children_) signal(c, SIGKILL);
}

bool process_table::has(pid_t pid) const {
  return std::any_of(children_.begin(), children_.end(),
                     [&](const auto& c) { return c.process.pid == pid; });
}

void process_table::add_to(std::vector<pollfd>& fds) const {
  for (const auto& c : children_) fds.push_back({c.process.pid_fd.get(), POLLIN, 0});
}

}  // namespace tidegate::launch
