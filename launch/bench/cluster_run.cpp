#include "launch/bench/cluster_run.hpp"

#include <algorithm>
#include <filesystem>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/bench/cpus.hpp"
#include "launch/bench/hosts.hpp"
#include "launch/bench/sizes.hpp"
#include "launch/config/write_yaml.hpp"
#include "launch/plan/environment.hpp"
#include "launch/processes/find_program.hpp"
#include "launch/processes/signals.hpp"
#include "launch/processes/spawn.hpp"
#include "launch/run/run_folder.hpp"
#include "launch/text/files.hpp"

namespace tidegate::bench {

using runtime::errc;
using runtime::status;

namespace {

constexpr std::int64_t run_ns_max = 600'000'000'000;
constexpr int end_ms_max = 5000;  // the launcher ends its processes within two seconds
constexpr std::size_t log_lines_shown = 15;

// Blocks until the launcher has ended; asks it to end when a signal comes or time is up.
status wait_for(const launch::spawned& launcher, const launch::signal_source& signals) {
  status result;
  auto deadline = now_ns() + run_ns_max;
  for (;;) {
    pollfd fds[] = {{.fd = launcher.pid_fd.get(), .events = POLLIN, .revents = 0},
                    {.fd = signals.fd(), .events = POLLIN, .revents = 0}};
    const auto left_ms = std::max<std::int64_t>(0, (deadline - now_ns()) / 1'000'000);
    const int ready = ::poll(fds, 2, static_cast<int>(left_ms));
    if ((fds[0].revents & POLLIN) != 0) break;
    const bool late = ready == 0;
    if (late && !result.ok()) {
      ::kill(launcher.pid, SIGKILL);  // its processes go with it
      break;
    }
    if (!late && signals.next() == 0) continue;
    if (result.ok())
      result =
          late ? status(errc::timed_out, "the cluster did not end within " +
                                             std::to_string(run_ns_max / 1'000'000'000) + " s")
               : status(errc::cancelled, "interrupted");
    ::kill(launcher.pid, SIGTERM);
    deadline = now_ns() + std::int64_t{end_ms_max} * 1'000'000;
  }
  int ended = 0;
  ::waitpid(launcher.pid, &ended, 0);
  if (result.ok() && ended != 0) result = {errc::unavailable, ""};
  return result;
}

status check_cpus(const std::vector<int>& cpus) {
  const auto allowed = allowed_cpus();
  for (const int cpu : cpus)
    if (!std::binary_search(allowed.begin(), allowed.end(), cpu))
      return {errc::invalid_argument, "--pin: core " + std::to_string(cpu) +
                                          " is not there or not allowed to this process"};
  return {};
}

}  // namespace

temporary_folder::temporary_folder() {
  std::error_code error;
  auto base = std::filesystem::temp_directory_path(error);
  std::string pattern = (error ? "/tmp" : base.string()) + "/tidegate-bench-XXXXXX";
  if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
}

temporary_folder::~temporary_folder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

status temporary_folder::check() const {
  if (!path_.empty()) return {};
  return {errc::io_error, "no temporary folder could be made; is TMPDIR right?"};
}

std::vector<int> cpus_of_pin(const std::string& pin) {
  if (pin == "none") return {};
  if (pin == "auto") return allowed_cpus();
  std::vector<int> cpus;
  if (const auto numbers = parse_numbers(pin, ~0U))
    for (const auto cpu : *numbers) cpus.push_back(static_cast<int>(cpu));
  return cpus;
}

status run_place::prepare(const std::string& pin) {
  cpus_ = cpus_of_pin(pin);
  if (auto allowed = check_cpus(cpus_); !allowed.ok()) return allowed;
  const auto program = launch::own_program();
  if (!program) return program.error();
  program_ = *program;
  return folder_.check();
}

policies::cluster_spec measured_cluster(const bench_options& options,
                                        const std::vector<std::string>& command) {
  policies::cluster_spec spec;
  spec.name = "bench";
  spec.shards = options.shards;
  spec.replicas = options.replicas;
  spec.device = options.device;
  spec.transport = options.transport;
  spec.security.encrypt = options.encrypt;
  spec.traces = options.traces;
  spec.chunk_bytes =
      options.chunk_bytes != 0
          ? options.chunk_bytes
          : policies::default_chunk_bytes(options.hosts.size(), !options.device.empty());
  auto& job = spec.jobs.emplace_back();
  job.name = "bench";
  job.workers = options.workers;
  job.command = command;
  job.consistency.kind = policies::consistency_kind::bsp;
  // Nothing that the peers would not do: no version is kept for workers that come back.
  job.not_finite = policies::not_finite_rule::allow;
  job.on_worker_loss = policies::worker_loss_rule::fail;
  // Whole numbers stay whole for any number of workers.
  job.reduce = policies::reduce_kind::sum;
  spread(options.hosts, spec);
  return spec;
}

status run_cluster(const run_place& where, const policies::cluster_spec& spec,
                   const arena& shared) {
  const auto& folder = where.folder();
  const auto& program = where.program();
  const auto yaml = folder.path("cluster.yaml");
  if (auto written = launch::write_file_atomically(yaml, launch::write_yaml(spec));
      !written.ok())
    return written;
  launch::spawn_request request;
  request.program = program;
  request.arguments = {program, "launch", yaml, "--run-dir", folder.path("run")};
  request.environment = launch::format_environment(launch::parse_environment(environ));
  request.log_path = folder.path("log");
  const launch::signal_source signals;
  const auto launcher = launch::spawn(request);
  if (!launcher) return launcher.error();
  auto ended = wait_for(*launcher, signals);
  if (ended.ok() || ended.code() == errc::cancelled) return ended;
  if (!shared.failure().empty()) return {errc::corrupt, shared.failure()};
  return {ended.code(), (ended.message().empty() ? "the cluster failed" : ended.message()) +
                            "; the end of its log:\n" +
                            launch::last_lines(request.log_path, log_lines_shown)};
}

}  // namespace tidegate::bench
