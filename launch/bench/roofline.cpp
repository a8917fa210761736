#include "launch/bench/roofline.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "launch/bench/cpus.hpp"
#include "launch/bench/huge_array.hpp"
#include "launch/bench/sizes.hpp"
#include "launch/bench/team.hpp"
#include "launch/text/text_table.hpp"
#include "runtime/kernels/roofline.hpp"
#include "runtime/optimizers/registry.hpp"

namespace tidegate::bench {

namespace {

using runtime::kernels::optimizer_kind;

// Small arrays are worked on several times between two readings of the clock.
constexpr std::uint64_t bytes_per_reading = 64U << 20U;
constexpr std::size_t slice_alignment = 1024;  // floats

struct slice {
  std::size_t begin = 0;
  std::size_t size = 0;
};

slice slice_of(std::size_t elements, std::uint32_t part, std::uint32_t parts) {
  const auto cut = [&](std::uint32_t at) {
    return at == parts ? elements : elements * at / parts / slice_alignment * slice_alignment;
  };
  return {cut(part), cut(part + 1) - cut(part)};
}

void read_all(const float* data, std::size_t elements) {
  const float sum = runtime::kernels::read_pass(data, elements);
  asm volatile("" : : "m"(sum));
}

// The first reading warms up.
ceiling summed_up(ceiling limit, std::vector<double> seconds) {
  seconds.erase(seconds.begin());
  std::sort(seconds.begin(), seconds.end());
  limit.seconds = seconds.front();
  limit.median_seconds = seconds[seconds.size() / 2];
  return limit;
}

class bench_of_one_size {
 public:
  bench_of_one_size(const roofline_options& options, std::uint64_t bytes,
                    const std::vector<int>& cores)
      : options_(options), bytes_(bytes), elements_(bytes / sizeof(float)), everybody_(cores) {
    const auto most = std::max<std::uint32_t>(
        2, *std::max_element(options.inputs.begin(), options.inputs.end()));
    for (std::uint32_t i = 0; i < most; ++i) inputs_.emplace_back(elements_);
    for (int i = 0; i < 3; ++i) state_.emplace_back(elements_);
  }

  void run(const std::vector<int>& cpus, std::vector<ceiling>& results) {
    thread_team threads(cpus);
    results.push_back(time(threads,
                           {.operation = "read",
                            .inputs = 1,
                            .optimizer = "",
                            .bytes = bytes_,
                            .threads = threads.size()},
                           [&](slice s) { read_all(inputs_[0].data() + s.begin, s.size); }));
    results.push_back(time(threads,
                           {.operation = "copy",
                            .inputs = 1,
                            .optimizer = "",
                            .bytes = bytes_,
                            .threads = threads.size()},
                           [&](slice s) {
                             std::memcpy(inputs_[1].data() + s.begin,
                                         inputs_[0].data() + s.begin, s.size * sizeof(float));
                           }));
    for (const auto n : options_.inputs)
      for (const auto kind : options_.optimizers) {
        const std::string name(runtime::optimizer_name(kind));
        results.push_back(time(threads,
                               {.operation = "sum " + std::to_string(n) + " + " + name,
                                .inputs = n,
                                .optimizer = name,
                                .bytes = bytes_,
                                .threads = threads.size()},
                               [&](slice s) { update(kind, n, s); }));
        results.push_back(fresh(threads, n, kind));
      }
  }

 private:
  ceiling time(thread_team& threads, ceiling limit,
               const std::function<void(slice)>& work) const {
    const auto repeats = std::max<std::uint64_t>(1, bytes_per_reading / bytes_);
    std::vector<double> found;
    for (std::uint32_t round = 0; round < options_.rounds + 1; ++round) {
      const double seconds = threads.run([&](std::uint32_t part) {
        for (std::uint64_t i = 0; i < repeats; ++i)
          work(slice_of(elements_, part, threads.size()));
      });
      found.push_back(seconds / static_cast<double>(repeats));
    }
    return summed_up(std::move(limit), std::move(found));
  }

  // The sum as a shard meets it: every input has just been written by the core of its worker,
  // who has read the parameters before.
  ceiling fresh(thread_team& threads, std::uint32_t inputs, optimizer_kind kind) {
    const std::string name(runtime::optimizer_name(kind));
    ceiling limit{.operation = "fresh sum " + std::to_string(inputs) + " + " + name,
                  .inputs = inputs,
                  .optimizer = name,
                  .bytes = bytes_,
                  .threads = threads.size()};
    const auto readings =
        options_.rounds * std::clamp<std::uint64_t>(bytes_per_reading / bytes_, 1, 16);
    std::vector<double> found;
    for (std::uint64_t reading = 0; reading < readings + 1; ++reading) {
      everybody_.run([&](std::uint32_t core) {
        for (std::uint32_t i = 0; i < inputs; ++i) {
          if ((threads.size() + i) % everybody_.size() != core) continue;
          read_all(state_[0].data(), elements_);
          std::fill_n(inputs_[i].data(), elements_, static_cast<float>(reading % 2));
        }
      });
      found.push_back(threads.run([&](std::uint32_t part) {
        update(kind, inputs, slice_of(elements_, part, threads.size()));
      }));
    }
    return summed_up(std::move(limit), std::move(found));
  }

  // As a shard does it: all inputs, and the parameters in place.
  void update(optimizer_kind kind, std::uint32_t inputs, slice s) const {
    std::vector<runtime::kernels::gradient> gradients(inputs);
    for (std::uint32_t i = 0; i < inputs; ++i) {
      gradients[i].data = inputs_[i].data() + s.begin;
      gradients[i].rank = i;
    }
    runtime::kernels::optimizer optimizer;
    optimizer.kind = kind;
    runtime::kernels::beta_powers powers;
    runtime::kernels::chunk_arrays at;
    at.before = at.after = state_[0].data() + s.begin;
    at.state1 = state_[1].data() + s.begin;
    at.state2 = state_[2].data() + s.begin;
    at.n = s.size;
    runtime::kernels::apply_update(optimizer, powers, gradients, 1.0F, at);
  }

  const roofline_options& options_;
  std::uint64_t bytes_;
  std::size_t elements_;
  thread_team everybody_;  // a thread per core
  std::vector<huge_array> inputs_;
  std::vector<huge_array> state_;
};

// A virtual machine may report the caches of the whole host: not more than 256 MiB.
std::uint64_t larger_than_caches() {
  const auto cache = static_cast<std::uint64_t>(std::max(0L, ::sysconf(_SC_LEVEL3_CACHE_SIZE)));
  return std::clamp<std::uint64_t>(4 * cache, 64U << 20U, 256U << 20U);
}

}  // namespace

runtime::expected<std::vector<ceiling>> measure_roofline(const roofline_options& wanted) {
  auto options = wanted;
  const auto cpus = allowed_cpus();
  const auto cores = static_cast<std::uint32_t>(cpus.size());
  if (options.bytes.empty()) options.bytes = {larger_than_caches()};
  if (options.threads.empty()) options.threads = {1};
  if (wanted.threads.empty() && cores > 1) options.threads.push_back(cores);
  if (options.optimizers.empty())
    options.optimizers = {optimizer_kind::sgd, optimizer_kind::momentum, optimizer_kind::adam};
  for (const auto threads : options.threads)
    if (threads == 0 || threads > cores)
      return runtime::fail(runtime::errc::invalid_argument,
                           "--threads " + std::to_string(threads) + "; allowed: 1 to " +
                               std::to_string(cores) + ", the cores of this machine");
  std::vector<ceiling> results;
  for (const auto bytes : options.bytes) {
    bench_of_one_size byte(options, bytes, cpus);
    for (const auto threads : options.threads)
      byte.run({cpus.begin(), cpus.begin() + threads}, results);
  }
  return results;
}

std::string roofline_table(const std::vector<ceiling>& ceilings) {
  std::vector<std::vector<std::string>> rows{
      {"array", "operation", "threads", "best", "median", "payload"}};
  for (const auto& c : ceilings) {
    char best[32], median[32], rate[32];
    std::snprintf(best, sizeof best, "%.1f us", c.seconds * 1e6);
    std::snprintf(median, sizeof median, "%.1f us", c.median_seconds * 1e6);
    std::snprintf(rate, sizeof rate, "%.2f GB/s", c.gb_per_s());
    rows.push_back(
        {format_size(c.bytes), c.operation, std::to_string(c.threads), best, median, rate});
  }
  return launch::format_table(rows, {2, 3, 4, 5});
}

std::string roofline_json(const std::vector<ceiling>& ceilings) {
  nlohmann::ordered_json root{{"kind", "roofline"}};
  root["ceilings"] = nlohmann::ordered_json::array();
  for (const auto& c : ceilings)
    root["ceilings"].push_back({{"operation", c.operation},
                                {"inputs", c.inputs},
                                {"optimizer", c.optimizer},
                                {"bytes", c.bytes},
                                {"threads", c.threads},
                                {"seconds", c.seconds},
                                {"median_seconds", c.median_seconds},
                                {"gb_per_s", c.gb_per_s()}});
  return root.dump(2) + "\n";
}

}  // namespace tidegate::bench
