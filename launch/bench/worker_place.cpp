#include "launch/bench/worker_place.hpp"

#include <cstdlib>

#include "launch/bench/cpus.hpp"
#include "launch/bench/sizes.hpp"
#include "launch/text/nearest.hpp"

namespace tidegate::bench {

namespace {

constexpr std::uint32_t cpu_max = 1'000'000;

}  // namespace

std::string cpu_words(const std::vector<int>& cpus) {
  std::vector<std::string> words;
  for (const int cpu : cpus) words.push_back(std::to_string(cpu));
  return words.empty() ? "none" : launch::join(words, ",");
}

runtime::expected<std::vector<int>> parse_cpu_words(const std::string& words) {
  std::vector<int> cpus;
  if (words == "none") return cpus;
  const auto numbers = parse_numbers(words, cpu_max);
  if (!numbers) return runtime::fail(numbers.error());
  cpus.assign(numbers->begin(), numbers->end());
  return cpus;
}

runtime::status pin_worker(const worker_place& place) {
  if (place.cpus.empty()) return {};
  const char* rank = std::getenv("TIDEGATE_RANK");
  const auto number = place.shards + (rank == nullptr ? 0UL : std::strtoul(rank, nullptr, 10));
  return pin_this_thread(place.cpus[number % place.cpus.size()]);
}

runtime::expected<server_processes> take_servers(const worker_place& place) {
  const char* run_dir = std::getenv("TIDEGATE_RUN_DIR");
  auto servers = server_processes::find(run_dir == nullptr ? "." : run_dir, place.shards);
  if (!servers) return servers;
  if (auto pinned = servers->pin(place.cpus); !pinned.ok()) return runtime::fail(pinned);
  return servers;
}

runtime::status run_member(
    const std::string& arena_path, const worker_place& place,
    const std::function<runtime::status(arena&, tidegate::session&)>& work) {
  auto shared = arena::open(arena_path);
  if (!shared) return shared.error();
  const auto joined = [&]() -> runtime::status {
    if (auto pinned = pin_worker(place); !pinned.ok()) return pinned;
    auto job = tidegate::session::connect();
    if (!job) return job.error();
    auto done = work(*shared, *job);
    if (done.ok()) return done;
    shared->fail("rank " + std::to_string(job->info().rank) + ": " + done.message());
    job->fail(done);
    return done;
  };
  auto done = joined();
  if (!done.ok()) shared->fail(done.message());
  return done;
}

}  // namespace tidegate::bench
