#include "launch/chaos/members.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launch/text/files.hpp"
#include "runtime/base/unique_fd.hpp"
#include "runtime/process/process_stat.hpp"

namespace tidegate::chaos {

namespace {

using policies::chaos_target;
using policies::process_role;
using runtime::errc;

std::map<std::string, std::string, std::less<>> variables_of(std::string_view environment) {
  std::map<std::string, std::string, std::less<>> all;
  while (!environment.empty()) {
    const auto end = std::min(environment.find('\0'), environment.size());
    const auto entry = environment.substr(0, end);
    if (const auto equals = entry.find('='); equals != std::string_view::npos)
      all.emplace(entry.substr(0, equals), entry.substr(equals + 1));
    environment.remove_prefix(std::min(end + 1, environment.size()));
  }
  return all;
}

// None: it is gone, or the pid is somebody else's.
std::optional<chaos_target> identify(const launch::live_process& listed,
                                     const std::string& run_dir) {
  // In this order: a pid that changes hands in between shows in its environment.
  const auto stat = runtime::stat_of(listed.pid);
  const auto environment =
      launch::read_file("/proc/" + std::to_string(listed.pid) + "/environ");
  if (!environment) return std::nullopt;
  if (!stat || is_over(*stat) || stat->group != listed.pid) return std::nullopt;
  if (stat->started != listed.started) return std::nullopt;
  if (!belongs_to_run(*environment, run_dir, listed.name)) return std::nullopt;
  return chaos_target{.name = listed.name, .pid = listed.pid, .started = stat->started};
}

}  // namespace

bool belongs_to_run(std::string_view environment, const std::string& run_dir,
                    const policies::process_name& name) {
  const auto all = variables_of(environment);
  const auto is = [&](std::string_view variable, const std::string& value) {
    const auto at = all.find(variable);
    return at != all.end() && at->second == value;
  };
  if (!is("TIDEGATE_RUN_DIR", run_dir) || !all.contains("TIDEGATE_TOKEN")) return false;
  if (name.role != process_role::worker) return !all.contains("TIDEGATE_RANK");
  return is("TIDEGATE_JOB", name.job) && is("TIDEGATE_RANK", std::to_string(name.index));
}

runtime::expected<members> members::of_run(const std::string& run_dir) {
  std::error_code error;
  members result;
  result.run_dir_ = std::filesystem::absolute(run_dir, error).lexically_normal().string();
  while (result.run_dir_.size() > 1 && result.run_dir_.ends_with('/'))
    result.run_dir_.pop_back();
  if (error || !std::filesystem::is_directory(result.run_dir_, error))
    return runtime::fail(errc::not_found,
                         run_dir +
                             " is no run folder; it is what tidegate launch shows, "
                             "or what --run-dir gives it");
  return result;
}

bool members::has_ended() const {
  std::error_code error;
  return std::filesystem::exists(run_dir_ + "/result.json", error);
}

runtime::expected<std::vector<chaos_target>> members::living() const {
  const auto text = launch::read_file(run_dir_ + "/pids.json");
  if (!text) return runtime::fail(text.error());
  const auto listed = launch::parse_pids(*text);
  if (!listed)
    return runtime::fail(listed.error().code(), run_dir_ + ": " + listed.error().message());
  std::vector<chaos_target> all;
  for (const auto& process : *listed)
    if (auto target = identify(process, run_dir_)) all.push_back(*target);
  return all;
}

runtime::status send_signal(const chaos_target& to, int number) {
  const auto name = to.name.to_string() + " (pid " + std::to_string(to.pid) + ")";
  const runtime::status gone{errc::not_found, name + " is gone"};
  // From here on the descriptor is of one process, whoever gets its pid later. The group has no
  // descriptor: it is signalled by its number, right after it is sure that the process is
  // there.
  const runtime::unique_fd fd(static_cast<int>(::syscall(SYS_pidfd_open, to.pid, 0)));
  const auto stat = runtime::stat_of(to.pid);
  if (!fd || !stat || is_over(*stat) || stat->started != to.started || stat->group != to.pid)
    return gone;
  if (::syscall(SYS_pidfd_send_signal, fd.get(), 0, nullptr, 0) == 0 &&
      ::kill(-to.pid, number) == 0)
    return {};
  if (errno == ESRCH) return gone;
  return {errc::refused, name + ": " + std::strerror(errno)};
}

}  // namespace tidegate::chaos
