#include "launch/bench/server_processes.hpp"

#include <chrono>
#include <ctime>
#include <thread>

#include <nlohmann/json.hpp>

#include "launch/bench/arena.hpp"
#include "launch/bench/cpus.hpp"
#include "launch/text/files.hpp"

namespace tidegate::bench {

namespace {

constexpr std::int64_t find_ns_max = 5'000'000'000;
constexpr auto find_pause = std::chrono::milliseconds(2);

double cpu_seconds_of(pid_t pid) {
  clockid_t clock = {};
  timespec used = {};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

}  // namespace

runtime::expected<server_processes> server_processes::find(const std::string& run_dir,
                                                           std::uint32_t shards) {
  const auto path = run_dir + "/pids.json";
  // The launcher writes the file once it has started everybody; a worker may be faster.
  for (const auto deadline = now_ns() + find_ns_max; now_ns() < deadline;
       std::this_thread::sleep_for(find_pause)) {
    const auto text = launch::read_file(path);
    if (!text) continue;
    const auto list = nlohmann::json::parse(*text, nullptr, false);
    if (!list.is_array()) return runtime::fail(runtime::errc::corrupt, path + ": no list");
    server_processes found;
    for (const auto& entry : list) {
      const auto role = entry.value("role", "");
      const auto pid = static_cast<pid_t>(entry.value("pid", 0));
      if (role == "shard") found.shards_.push_back(pid);
      if (role != "shard" && role != "worker") found.others_.push_back(pid);
    }
    if (found.shards_.size() == shards) return found;
  }
  return runtime::fail(runtime::errc::timed_out,
                       path + ": does not list " + std::to_string(shards) + " shards");
}

runtime::status server_processes::pin(const std::vector<int>& cpus) const {
  if (cpus.empty()) return {};
  for (std::size_t i = 0; i < shards_.size(); ++i)
    if (auto pinned = pin_process(shards_[i], cpus[i % cpus.size()]); !pinned.ok())
      return pinned;
  return {};
}

double server_processes::cpu_seconds() const {
  double all = 0;
  for (const auto pid : shards_) all += cpu_seconds_of(pid);
  for (const auto pid : others_) all += cpu_seconds_of(pid);
  return all;
}

}  // namespace tidegate::bench
