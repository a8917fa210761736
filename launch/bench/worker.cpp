#include "launch/bench/worker.hpp"

#include <cstdio>

#include "launch/bench/device_exchanger.hpp"
#include "launch/bench/exchanger.hpp"
#include "launch/bench/server_processes.hpp"
#include "launch/bench/sizes.hpp"
#include "runtime/device/device_name.hpp"
#include "runtime/optimizers/registry.hpp"
#include <tidegate/session.hpp>

namespace tidegate::bench {

namespace {

using runtime::status;

constexpr std::size_t words_of_exchange = 10;
constexpr std::uint32_t count_max = 1'000'000;

template <class Exchanger>
status work_with(const worker_order& order, arena& shared, tidegate::session& job,
                 runtime::expected<Exchanger> self) {
  if (!self) return self.error();
  runtime::expected<server_processes> servers;
  if (job.info().rank == 0) {
    servers = take_servers(order.place);
    if (!servers) return servers.error();
    self->watch(&*servers);
  }
  if (auto done = measure(shared,
                          {.rank = job.info().rank,
                           .warmup = order.warmup,
                           .in_a_row = order.in_a_row,
                           .optimizer = order.optimizer},
                          *self);
      !done.ok())
    return done;
  return job.finish();
}

status work(const worker_order& order, arena& shared, tidegate::session& job) {
  const auto elements = order.bytes / sizeof(float);
  if (order.device.empty())
    return work_with(order, shared, job,
                     exchanger::open(job, elements, order.tables, order.percent));
  return work_with(order, shared, job,
                   device_exchanger::open(job, order.device, elements, order.tables));
}

}  // namespace

std::vector<std::string> worker_command(const std::string& program, const worker_order& order) {
  return {program,
          "bench-worker",
          order.arena,
          std::to_string(order.bytes),
          std::to_string(order.warmup),
          std::to_string(order.tables),
          std::to_string(order.place.shards),
          std::string(runtime::optimizer_name(order.optimizer)),
          cpu_words(order.place.cpus),
          order.device.empty() ? "none" : order.device,
          std::to_string(order.percent),
          std::to_string(order.in_a_row)};
}

runtime::expected<worker_order> parse_worker(const std::vector<std::string>& args) {
  const auto bad = [] {
    return runtime::fail(
        runtime::errc::invalid_argument,
        "tidegate bench-worker is internal: `tidegate bench exchange` starts it");
  };
  if (args.size() != words_of_exchange) return bad();
  worker_order order;
  order.arena = args[0];
  const auto bytes = parse_size(args[1]);
  const auto kind = runtime::find_optimizer(args[5]);
  if (!bytes || !kind) return bad();
  order.bytes = *bytes;
  order.optimizer = *kind;
  std::uint32_t* const numbers[] = {&order.warmup, &order.tables, &order.place.shards};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto number = parse_numbers(args[2 + i], count_max);
    if (!number || number->size() != 1 || (i != 0 && number->front() == 0)) return bad();
    *numbers[i] = number->front();
  }
  if (args[7] != "none") {
    if (!runtime::devices::parse_device_name(args[7])) return bad();
    order.device = args[7];
  }
  const auto percent = parse_numbers(args[8], 100);
  if (!percent || percent->size() != 1) return bad();
  order.percent = percent->front();
  const auto in_a_row = parse_numbers(args[9], count_max);
  if (!in_a_row || in_a_row->size() != 1 || in_a_row->front() == 0) return bad();
  order.in_a_row = in_a_row->front();
  auto cpus = parse_cpu_words(args[6]);
  if (!cpus) return bad();
  order.place.cpus = std::move(*cpus);
  return order;
}

int run_worker(const std::vector<std::string>& args) {
  const auto order = parse_worker(args);
  const auto run = [&](arena& shared, tidegate::session& job) {
    return work(*order, shared, job);
  };
  const auto done = order ? run_member(order->arena, order->place, run) : order.error();
  if (done.ok()) return 0;
  std::fprintf(stderr, "tidegate bench-worker: %s\n", done.message().c_str());
  return order ? 1 : 2;
}

}  // namespace tidegate::bench
