#include "launch/processes/leftovers.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

#include "launch/processes/process_records.hpp"
#include "launch/text/files.hpp"
#include "launch/text/scalars.hpp"
#include "runtime/process/process_mark.hpp"
#include "runtime/process/process_stat.hpp"

namespace tidegate::launch {

namespace {

namespace fs = std::filesystem;

constexpr int gone_within_ms = 5000;

std::vector<runtime::process_mark> find_leftovers(const earlier_launch& earlier) {
  std::vector<runtime::process_mark> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const auto number = parse_unsigned(entry.path().filename().string());
    if (!number) continue;
    const auto pid = static_cast<pid_t>(*number);
    // In this order: a pid that changes hands in between shows in its environment.
    const auto stat = runtime::stat_of(pid);
    if (!stat || runtime::is_over(*stat) || stat->group == ::getpgrp()) continue;
    const auto environment = read_file("/proc/" + std::to_string(pid) + "/environ");
    if (!environment) continue;
    const policies::process_facts facts{.pid = pid,
                                        .group = stat->group,
                                        .session = stat->session,
                                        .started = stat->started,
                                        .environment = *environment};
    if (policies::is_leftover(facts, earlier.launcher, earlier.run_dirs, earlier.listed))
      found.push_back({pid, stat->started});
  }
  return found;
}

}  // namespace

runtime::expected<earlier_launch> read_earlier_launch(const std::string& run_dir) {
  const auto text = read_file(run_dir + "/launcher.json");
  if (!text) return runtime::fail(text.error());
  auto mark = parse_launcher(*text);
  if (!mark) return runtime::fail(mark.error());
  earlier_launch earlier{.launcher = std::move(*mark), .listed = {}, .run_dirs = {run_dir}};
  const auto list = read_file(run_dir + "/pids.json");
  if (!list) return runtime::fail(list.error());
  const auto processes = parse_pids(*list);
  if (!processes) return runtime::fail(processes.error());
  for (const auto& process : *processes) earlier.listed.push_back(process.pid);
  return earlier;
}

policies::launcher_mark own_mark_as_launcher(const std::string& token) {
  policies::launcher_mark mark{.pid = ::getpid(), .token = token};
  if (const auto stat = runtime::stat_of(::getpid())) {
    mark.started = stat->started;
    mark.session = stat->session;
  }
  mark.machine = runtime::machine_of_pids();
  return mark;
}

runtime::expected<int> end_leftovers(const earlier_launch& earlier) {
  const auto& machine = earlier.launcher.machine;
  if (!machine.empty() && machine != runtime::machine_of_pids()) return 0;
  int ended = 0;
  // Until nobody is found: one may have started another meanwhile.
  for (auto found = find_leftovers(earlier); !found.empty(); found = find_leftovers(earlier)) {
    for (const auto& mark : found)
      if (auto result = runtime::end_process(mark, gone_within_ms); !result.ok())
        return runtime::fail(result.code(),
                             "of an earlier life of this run: " + result.message());
    ended += static_cast<int>(found.size());
  }
  return ended;
}

}  // namespace tidegate::launch
