// Every kernel of runtime/kernels against the memory of the machine it runs on.
//
//   bench_kernels [--pages=small|huge|shared] [--threads=N] [flags of Google Benchmark]
//
// Each round times the kernel once and then the rooflines (read, copy, copy past the caches)
// over arrays of the same size, so noise of a shared machine meets both. The counters come from
// the best round of each:
//   payload      GB/s of gradients taken in
//   traffic      GB/s read and written; what the caches fetch before a write is not counted
//   of_roofline  traffic over that of the fastest roofline
// With N threads each works on its own part of the arrays, pinned to a core.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <pthread.h>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "runtime/kernels/roofline.hpp"
#include "runtime/kernels/update.hpp"
#include "runtime/optimizers/registry.hpp"
#include "tests/launch/bench/memory.hpp"

namespace tidegate::bench {
namespace {

namespace kernels = runtime::kernels;
using kernels::element;
using kernels::optimizer_kind;

struct settings {
  page_kind pages = page_kind::small;
  unsigned threads = 1;
};
settings chosen;

void pin(unsigned core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

// Calls work(first, count) for the part of each thread.
void in_parts(std::size_t n, const std::function<void(std::size_t, std::size_t)>& work) {
  if (chosen.threads == 1) return work(0, n);
  const std::size_t part = n / chosen.threads / 16 * 16;  // whole cache lines
  std::vector<std::jthread> helpers;
  for (unsigned t = 1; t < chosen.threads; ++t) {
    const std::size_t first = t * part;
    helpers.emplace_back([=, &work] {
      pin(t);
      work(first, t + 1 == chosen.threads ? n - first : part);
    });
  }
  work(0, part);
}

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

constexpr std::size_t inputs_max = 4;
enum place : std::size_t { before = inputs_max, after, state1, state2, places };

// The arrays of the size that is being measured; those of the last size are gone.
arrays& memory(std::size_t floats) {
  static std::unique_ptr<arrays> kept;
  if (!kept || kept->floats() != floats) {
    kept.reset();
    kept = std::make_unique<arrays>(chosen.pages, places, floats);
  }
  return *kept;
}

// The best rate of reading and writing over arrays like those of the kernel, bytes per second.
double roofline_now(const arrays& at) {
  const std::size_t n = at.floats();
  const double bytes = static_cast<double>(n) * sizeof(float);
  const double read = seconds([&] {
    in_parts(n, [&](std::size_t first, std::size_t count) {
      benchmark::DoNotOptimize(kernels::read_pass(at[0] + first, count));
    });
  });
  const double copy = seconds([&] {
    in_parts(n, [&](std::size_t first, std::size_t count) {
      kernels::copy_pass(at[0] + first, at[after] + first, count);
    });
  });
  const double stream = seconds([&] {
    in_parts(n, [&](std::size_t first, std::size_t count) {
      kernels::stream_pass(at[0] + first, at[after] + first, count);
    });
  });
  return std::max({bytes / read, 2 * bytes / copy, 2 * bytes / stream});
}

enum class target : std::uint8_t { in_place, other };

struct kernel_case {
  optimizer_kind kind = optimizer_kind::sgd;
  std::size_t inputs = 2;
  element type = element::float32;
  target into = target::in_place;
  std::size_t bytes = 0;  // of the parameters
};

void step(const kernel_case& item, const arrays& at, std::size_t first, std::size_t count) {
  kernels::optimizer optimizer;
  optimizer.kind = item.kind;
  optimizer.learning_rate = 1e-6F;
  std::array<kernels::gradient, inputs_max> inputs;
  for (std::uint32_t k = 0; k < item.inputs; ++k) {
    auto* data = reinterpret_cast<const std::byte*>(at[k]) + first * size_of(item.type);
    inputs[k] = {.data = data, .rank = k, .type = item.type};
  }
  kernels::beta_powers powers;
  float* into = at[item.into == target::in_place ? before : after] + first;
  kernels::apply_update(optimizer, powers, std::span(inputs).first(item.inputs), 0.5F,
                        {.before = at[before] + first,
                         .after = into,
                         .state1 = at[state1] + first,
                         .state2 = at[state2] + first,
                         .n = count});
}

void measure(benchmark::State& state, const kernel_case& item) {
  const auto& at = memory(item.bytes / sizeof(float));
  const std::size_t n = at.floats();
  double best = 1e9;
  double roofline = 0;
  const auto run = [&] {
    in_parts(n, [&](std::size_t first, std::size_t count) { step(item, at, first, count); });
  };
  run();  // not timed: the width is found, caches are as warm as they get
  for (auto _ : state) {
    const double took = seconds(run);
    state.SetIterationTime(took);
    best = std::min(best, took);
    roofline = std::max(roofline, roofline_now(at));
  }
  const double payload = static_cast<double>(item.inputs * n * size_of(item.type));
  const double others = 2 + 2 * static_cast<double>(runtime::traits_of(item.kind).state_arrays);
  const double traffic = payload + others * static_cast<double>(n * sizeof(float));
  state.counters["payload"] = payload / best / 1e9;
  state.counters["traffic"] = traffic / best / 1e9;
  state.counters["of_roofline"] = traffic / best / roofline;
}

void measure_roofline(benchmark::State& state, std::size_t bytes) {
  const auto& at = memory(bytes / sizeof(float));
  double best = 0;
  for (auto _ : state) {
    state.SetIterationTime(seconds([&] { best = std::max(best, roofline_now(at)); }));
  }
  state.counters["traffic"] = best / 1e9;
}

void add(const kernel_case& item, const std::string& size) {
  constexpr const char* types[] = {"float32", "float16", "bfloat16"};
  constexpr const char* places[] = {"in_place", "other"};
  const auto name = std::string(runtime::optimizer_name(item.kind)) + "/" +
                    std::to_string(item.inputs) + "x" +
                    types[static_cast<std::size_t>(item.type)] + "/" + size + "/" +
                    places[static_cast<std::size_t>(item.into)];
  benchmark::RegisterBenchmark(name.c_str(),
                               [item](benchmark::State& state) { measure(state, item); })
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

void add_all(std::size_t bytes, const std::string& size) {
  benchmark::RegisterBenchmark(
      ("roofline/" + size + "/best").c_str(),
      [bytes](benchmark::State& state) { measure_roofline(state, bytes); })
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
  for (const std::size_t inputs : {2, 4}) {
    for (const auto& traits : runtime::dense_optimizers)
      add({.kind = traits.kind,
           .inputs = inputs,
           .type = element::float32,
           .into = target::in_place,
           .bytes = bytes},
          size);
    add({.kind = optimizer_kind::sgd,
         .inputs = inputs,
         .type = element::float32,
         .into = target::other,
         .bytes = bytes},
        size);
    for (const auto type : {element::float16, element::bfloat16})
      add({.kind = optimizer_kind::sgd,
           .inputs = inputs,
           .type = type,
           .into = target::in_place,
           .bytes = bytes},
          size);
  }
}

// Takes our flags out of the arguments; false when one is wrong.
bool read_flags(int& count, char** values) {
  int kept = 1;
  for (int i = 1; i < count; ++i) {
    const std::string_view flag = values[i];
    if (flag.starts_with("--pages=")) {
      if (!parse_page_kind(flag.substr(8), chosen.pages)) return false;
    } else if (flag.starts_with("--threads=")) {
      chosen.threads = static_cast<unsigned>(std::atoi(values[i] + 10));
      if (chosen.threads < 1 || chosen.threads > std::thread::hardware_concurrency())
        return false;
    } else {
      values[kept++] = values[i];
    }
  }
  count = kept;
  return true;
}

}  // namespace
}  // namespace tidegate::bench

int main(int argc, char** argv) {
  using namespace tidegate;
  if (!bench::read_flags(argc, argv)) {
    std::fprintf(stderr, "usage: %s [--pages=small|huge|shared] [--threads=1..cores] ...\n",
                 argv[0]);
    return 2;
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::AddCustomContext("vector_bytes", std::to_string(runtime::kernels::vector_bytes()));
  benchmark::AddCustomContext("threads", std::to_string(bench::chosen.threads));
  bench::pin(0);
  // A chunk, what fits a last-level cache, and what does not.
  bench::add_all(std::size_t{256} << 10, "256KiB");
  bench::add_all(std::size_t{2} << 20, "2MiB");
  bench::add_all(std::size_t{256} << 20, "256MiB");
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
