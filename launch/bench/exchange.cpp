#include "launch/bench/exchange.hpp"

#include <algorithm>
#include <filesystem>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "launch/bench/arena.hpp"
#include "launch/bench/cpus.hpp"
#include "launch/bench/hosts.hpp"
#include "launch/bench/measure.hpp"
#include "launch/bench/pattern.hpp"
#include "launch/bench/sizes.hpp"
#include "launch/bench/worker.hpp"
#include "launch/config/write_yaml.hpp"
#include "launch/plan/environment.hpp"
#include "launch/run/find_program.hpp"
#include "launch/run/run_folder.hpp"
#include "launch/run/signals.hpp"
#include "launch/run/spawn.hpp"
#include "launch/text/files.hpp"

namespace tidegate::bench {

namespace {

using runtime::errc;
using runtime::status;

constexpr std::int64_t run_ns_max = 600'000'000'000;
constexpr int end_ms_max = 5000;  // the launcher ends its processes within two seconds
constexpr std::size_t log_lines_shown = 15;

class temporary_folder {
 public:
  temporary_folder() {
    std::error_code error;
    auto base = std::filesystem::temp_directory_path(error);
    std::string pattern = (error ? "/tmp" : base.string()) + "/tidegate-bench-XXXXXX";
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~temporary_folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;

  bool created() const noexcept { return !path_.empty(); }
  std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

policies::cluster_spec cluster_of(const bench_options& options,
                                  const std::vector<std::string>& command) {
  const auto optimizer = measured_optimizer(options.optimizer);
  policies::cluster_spec spec;
  spec.name = "bench";
  spec.shards = options.shards;
  spec.device = options.device;
  spec.transport = options.transport;
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
  job.reduce =
      policies::reduce_kind::sum;  // whole numbers stay whole for any number of workers
  job.optimizer = {.kind = options.optimizer,
                   .learning_rate = optimizer.learning_rate,
                   .momentum = optimizer.momentum,
                   .beta1 = optimizer.beta1,
                   .beta2 = optimizer.beta2,
                   .epsilon = optimizer.epsilon,
                   .lazy = options.percent != 0};
  spread(options.hosts, spec);
  return spec;
}

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

// Runs `tidegate launch` on the spec in the folder.
status launch_in(const temporary_folder& folder, const std::string& program,
                 const policies::cluster_spec& spec, const arena& shared) {
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

std::optional<double> copied_bytes(const std::string& result_file) {
  const auto text = launch::read_file(result_file);
  if (!text) return std::nullopt;
  const auto result = nlohmann::json::parse(*text, nullptr, false);
  const auto at = nlohmann::json::json_pointer("/jobs/0/payload_bytes_copied");
  if (!result.is_object() || !result.contains(at) || !result[at].is_number())
    return std::nullopt;
  return result[at].get<double>();
}

exchange_result collect(const arena& shared, const bench_options& options,
                        std::uint64_t bytes) {
  exchange_result result;
  result.bytes = bytes;
  result.warmup = options.warmup;
  for (auto i = options.warmup; i < shared.shape().iterations; ++i)
    result.seconds.push_back(static_cast<double>(shared.exchange_ns(i)) * 1e-9 /
                             options.repeats);
  for (std::uint32_t rank = 0; rank < options.workers; ++rank) {
    const auto account = shared.reported(rank);
    result.workers_cpu_seconds += account.cpu_seconds / options.repeats;
    result.servers_cpu_seconds += account.servers_cpu_seconds / options.repeats;
    result.verified += account.verified;
  }
  return result;
}

}  // namespace

std::vector<int> cpus_of_pin(const std::string& pin) {
  if (pin == "none") return {};
  if (pin == "auto") return allowed_cpus();
  std::vector<int> cpus;
  if (const auto numbers = parse_numbers(pin, ~0U))
    for (const auto cpu : *numbers) cpus.push_back(static_cast<int>(cpu));
  return cpus;
}

std::uint32_t default_iterations(std::uint64_t bytes) {
  constexpr std::uint64_t bytes_per_size = std::uint64_t{2} << 30U;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(bytes_per_size / bytes, 10, 200));
}

runtime::expected<exchange_result> measure_exchange(const bench_options& options,
                                                    std::uint64_t bytes) {
  const auto cpus = cpus_of_pin(options.pin);
  const auto allowed = allowed_cpus();
  for (const int cpu : cpus)
    if (!std::binary_search(allowed.begin(), allowed.end(), cpu))
      return runtime::fail(errc::invalid_argument,
                           "--pin: core " + std::to_string(cpu) +
                               " is not there or not allowed to this process");
  const auto program = launch::own_program();
  if (!program) return runtime::fail(program.error());
  const temporary_folder folder;
  if (!folder.created())
    return runtime::fail(errc::io_error, "no temporary folder could be made; is TMPDIR right?");
  const auto timed = options.iterations != 0 ? options.iterations : default_iterations(bytes);
  worker_order order;
  order.arena = folder.path("arena");
  order.bytes = bytes;
  order.warmup = options.warmup;
  order.tables = options.tables;
  order.device = options.device;
  order.percent = options.percent;
  order.in_a_row = options.repeats;
  order.shards = options.shards;
  order.optimizer = options.optimizer;
  order.cpus = cpus;
  const auto shared = arena::create(order.arena, {options.workers, options.warmup + timed});
  if (!shared) return runtime::fail(shared.error());
  const auto spec = cluster_of(options, worker_command(*program, order));
  if (auto ran = launch_in(folder, *program, spec, *shared); !ran.ok())
    return runtime::fail(ran);
  auto result = collect(*shared, options, bytes);
  if (const auto copied = copied_bytes(folder.path("run/result.json")))
    result.payload_bytes_copied =
        *copied / (options.warmup + timed) / exchanges_of_iteration(options.repeats);
  return result;
}

}  // namespace tidegate::bench
