#include "launch/bench/exchange.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "launch/bench/arena.hpp"
#include "launch/bench/cluster_run.hpp"
#include "launch/bench/measure.hpp"
#include "launch/bench/pattern.hpp"
#include "launch/bench/worker.hpp"
#include "launch/text/files.hpp"

namespace tidegate::bench {

namespace {

policies::cluster_spec cluster_of(const bench_options& options,
                                  const std::vector<std::string>& command) {
  const auto optimizer = measured_optimizer(options.optimizer);
  auto spec = measured_cluster(options, command);
  spec.jobs.front().optimizer = {.kind = options.optimizer,
                                 .learning_rate = optimizer.learning_rate,
                                 .momentum = optimizer.momentum,
                                 .beta1 = optimizer.beta1,
                                 .beta2 = optimizer.beta2,
                                 .epsilon = optimizer.epsilon,
                                 .lazy = options.percent != 0};
  return spec;
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

std::uint32_t default_iterations(std::uint64_t bytes) {
  constexpr std::uint64_t bytes_per_size = std::uint64_t{2} << 30U;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(bytes_per_size / bytes, 10, 200));
}

runtime::expected<exchange_result> measure_exchange(const bench_options& options,
                                                    std::uint64_t bytes) {
  run_place here;
  if (auto ready = here.prepare(options.pin); !ready.ok()) return runtime::fail(ready);
  const auto timed = options.iterations != 0 ? options.iterations : default_iterations(bytes);
  worker_order order;
  order.arena = here.folder().path("arena");
  order.bytes = bytes;
  order.warmup = options.warmup;
  order.tables = options.tables;
  order.device = options.device;
  order.percent = options.percent;
  order.in_a_row = options.repeats;
  order.optimizer = options.optimizer;
  order.place = {.shards = options.shards, .cpus = here.cpus()};
  const auto shared = arena::create(order.arena, {options.workers, options.warmup + timed});
  if (!shared) return runtime::fail(shared.error());
  const auto spec = cluster_of(options, worker_command(here.program(), order));
  if (auto ran = run_cluster(here, spec, *shared); !ran.ok()) return runtime::fail(ran);
  auto result = collect(*shared, options, bytes);
  if (const auto copied = copied_bytes(here.folder().path("run/result.json")))
    result.payload_bytes_copied =
        *copied / (options.warmup + timed) / exchanges_of_iteration(options.repeats);
  return result;
}

}  // namespace tidegate::bench
