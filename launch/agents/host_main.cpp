#include "launch/agents/host_main.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <unistd.h>

#include "launch/agents/agent_config.hpp"
#include "launch/agents/agent_mark.hpp"
#include "launch/agents/host_folder.hpp"
#include "launch/agents/host_loop.hpp"
#include "launch/agents/stage_here.hpp"
#include "launch/config/read_spec.hpp"
#include "launch/plan/environment.hpp"
#include "launch/processes/limits.hpp"
#include "launch/processes/signals.hpp"
#include "launch/processes/starter.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/object_place.hpp"

namespace tidegate::launch {

namespace {

// Nothing follows the line.
runtime::expected<std::string> read_line(int fd) {
  std::array<char, 4096> bytes{};
  std::string line;
  while (line.size() < config_bytes_max) {
    const auto got = ::read(fd, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      return runtime::fail(runtime::errc::unavailable,
                           "standard input has ended before its first line: `tidegate launch` "
                           "starts agents of hosts, and says there what they need");
    line.append(bytes.data(), static_cast<std::size_t>(got));
    if (line.ends_with('\n')) return line;
  }
  return runtime::fail(runtime::errc::corrupt, "the first line of standard input has no end");
}

// Before anything looks for programs.
runtime::status stage(const agent_config& config, const policies::cluster_spec& spec,
                      const agent_links& links) {
  const signal_source signals;
  const auto outcome = stage_here(config, links,
                                  {.token = config.token,
                                   .unreachable_ms = spec.supervision.unreachable_ms,
                                   .encrypt = spec.security.encrypt},
                                  STDIN_FILENO, signals.fd());
  if (!outcome) return outcome.error();
  if (outcome->files > 0)
    runtime::log::info("copied from the launcher's host: " + std::to_string(outcome->files) +
                       " files, " + std::to_string(outcome->bytes) + " bytes");
  return {};
}

// Returns as host_loop::carry_out().
runtime::expected<bool> run_host(const agent_links& links) {
  const auto line = read_line(STDIN_FILENO);
  if (!line) return runtime::fail(line.error());
  const auto config = parse_config(*line);
  if (!config) return runtime::fail(config.error());
  runtime::log::start("agent-" + config->host);
  const auto spec = parse_cluster(config->cluster, "the launcher's cluster file", {});
  if (!spec) return runtime::fail(spec.error());
  if (::chdir(config->folder.c_str()) != 0)
    runtime::log::warn(
        "the folder that the run was launched from is not here, and commands "
        "may be relative to it: " +
        config->folder + ": " + std::strerror(errno));
  if (auto fits = check_limits_of_this_machine(*spec); !fits.ok())
    return runtime::fail(std::move(fits));
  if (auto staged = stage(*config, *spec, links); !staged.ok())
    return runtime::fail(std::move(staged));
  auto environment = parse_environment(environ);
  // The launcher's store is meant, and not one that this host knows beside.
  if (has_object_place(*spec))
    for (const auto* name : runtime::object_variables) environment.erase(name);
  for (const auto& [name, value] : config->variables) environment[name] = value;
  const auto programs = starter::create(*spec, environment, {config->host});
  if (!programs) return runtime::fail(programs.error());
  const auto folder = host_folder::open(*config, *spec);
  if (!folder) return runtime::fail(folder.error());
  const auto ended = take_over_host(*config, folder->path());
  if (!ended) return runtime::fail(ended.error());
  if (auto cleared = folder->clear_logs(); !cleared.ok())
    return runtime::fail(std::move(cleared));
  if (*ended > 0)
    runtime::log::info(std::to_string(*ended) + " processes of an earlier agent were ended");
  raise_descriptor_limit(*spec);
  std::optional<log_tails> tails;
  if (!folder->is_shared()) {
    auto watched = log_tails::in(folder->path() + "/logs");
    if (!watched) return runtime::fail(watched.error());
    tails = std::move(*watched);
  }
  const auto has_left =
      host_loop(*config, folder->path(), *spec, *programs, links, std::move(tails)).carry_out();
  if (has_left) folder->remove();
  return has_left;
}

}  // namespace

exit_code host_main(const agent_links& links) {
  std::signal(SIGPIPE, SIG_IGN);
  const auto has_left = run_host(links);
  if (has_left) return *has_left ? exit_code::done : exit_code::process_died;
  runtime::log::error(has_left.error().message());
  return exit_code::bad_usage;
}

}  // namespace tidegate::launch
