#include "launch/run/run_metrics.hpp"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <nlohmann/json.hpp>

namespace tidegate::launch {

namespace {

using json = nlohmann::ordered_json;

constexpr std::int64_t pause_ns = 1'000'000'000;
constexpr std::size_t periods_kept = 30;

// To so many parts of one: as many digits as anybody reads.
json rounded(double value, double parts) {
  return std::isfinite(value) ? json(std::round(value * parts) / parts) : json(nullptr);
}

void add_pressure(json& to, const policies::pressure_rates& rates) {
  to["stopped"] = rounded(rates.stopped, 1e3);
  to["starved"] = rounded(rates.starved, 1e3);
  to["disk_faults"] = rounded(rates.disk_faults, 10);
  to["memory"] = rounded(rates.memory, 1e3);
}

json shard_json(const policies::shard_rates& rates) {
  json shard{{"shard", rates.shard},
             {"seconds", rounded(rates.seconds, 1e3)},
             {"answers_last", rounded(rates.answers_last, 1e3)},
             {"late_seconds", rounded(rates.late_seconds, 1e6)},
             {"waits", rounded(rates.waits, 1e3)},
             {"busy", rounded(rates.busy, 1e3)},
             {"replica", rounded(rates.replica, 1e3)},
             {"bytes_in_per_second", rounded(rates.bytes_in_per_second, 1)},
             {"bytes_out_per_second", rounded(rates.bytes_out_per_second, 1)},
             {"resident_bytes", rates.resident_bytes},
             {"pushes_held", rates.pushes_held}};
  add_pressure(shard, rates.pressure);
  return shard;
}

json replica_json(const policies::replica_rates& rates) {
  json replica{{"process", rates.process},
               {"shard", rates.shard},
               {"seconds", rounded(rates.seconds, 1e3)},
               {"busy", rounded(rates.busy, 1e3)},
               {"bytes_in_per_second", rounded(rates.bytes_in_per_second, 1)},
               {"resident_bytes", rates.resident_bytes}};
  add_pressure(replica, rates.pressure);
  return replica;
}

json worker_json(const policies::job_status& job, const policies::worker_status& worker,
                 const policies::worker_rates& rates) {
  json of{{"rank", worker.rank},
          {"incarnation", worker.incarnation},
          {"clock", shown_clock(job, worker)},
          {"clocks_per_second", rounded(rates.clocks_per_second, 1e2)},
          {"samples_per_second", rounded(rates.samples_per_second, 10)},
          {"seconds", rounded(rates.seconds, 1e3)},
          {"clocks", rates.clocks},
          {"computes", rounded(rates.computes, 1e3)},
          {"calls", rounded(rates.calls, 1e3)},
          {"waits", rounded(rates.waits, 1e3)},
          {"credits", rounded(rates.credits, 1e3)},
          {"garbage", rounded(rates.garbage, 1e3)},
          {"comes_last", rounded(rates.comes_last, 1e3)},
          {"late_seconds", rounded(rates.late_seconds, 1e6)},
          {"late", rounded(rates.late, 1e4)}};
  add_pressure(of, rates.pressure);
  return of;
}

json checkpoint_json(const policies::checkpoint_times& of) {
  const auto seconds = [](std::uint64_t ns) {
    return rounded(static_cast<double>(ns) * 1e-9, 1e3);
  };
  return {{"clock", of.clock},
          {"seconds", seconds(of.round_ns)},
          {"late_seconds", seconds(of.late_ns)},
          {"shard", of.shard},
          {"part_seconds", seconds(of.part_ns)},
          {"part_bytes", of.part_bytes},
          {"others_seconds", seconds(of.others_ns)},
          {"others_bytes", of.others_bytes},
          {"manifest_seconds", seconds(of.manifest_ns)}};
}

}  // namespace

std::string metrics_line(std::int64_t unix_ns, std::uint32_t epoch,
                         const policies::job_status& job, const policies::job_rates& rates) {
  json line{{"version", metrics_version},
            {"unix_ns", unix_ns},
            {"job", job.name},
            {"policy", job.policy},
            {"epoch", epoch},
            {"clock_slowest", job.clock_slowest},
            {"clock_fastest", job.clock_fastest},
            {"samples", job.samples},
            {"loss", job.samples == 0 ? json(nullptr) : rounded(job.loss, 1e9)},
            {"staleness_max", job.staleness_max},
            {"staleness", job.staleness},
            {"restarts", job.restarts},
            {"seconds", rounded(rates.seconds, 1e3)},
            {"clocks_per_second", rounded(rates.clocks_per_second, 1e2)},
            {"samples_per_second", rounded(rates.samples_per_second, 10)}};
  if (!job.metrics.empty()) {
    line["metrics"] = json::object();
    for (const auto& [name, value] : job.metrics) line["metrics"][name] = rounded(value, 1e9);
  }
  line["workers"] = json::array();
  for (std::size_t i = 0; i < rates.workers.size(); ++i)
    line["workers"].push_back(worker_json(job, job.members[i], rates.workers[i]));
  line["shards"] = json::array();
  for (const auto& shard : rates.shards) line["shards"].push_back(shard_json(shard));
  if (!rates.replicas.empty()) line["replicas"] = json::array();
  for (const auto& replica : rates.replicas) line["replicas"].push_back(replica_json(replica));
  if (rates.checkpoint) line["checkpoint"] = checkpoint_json(*rates.checkpoint);
  if (job.latest.late_ns > 0)
    line["latest"] = {
        {"clock", job.latest.clock},
        {"rank", job.latest.rank},
        {"late_seconds", rounded(static_cast<double>(job.latest.late_ns) * 1e-9, 1e6)}};
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

runtime::status run_metrics::add(std::int64_t now, std::int64_t unix_ns,
                                 const policies::cluster_status& status) {
  const bool is_due = now >= written_at_ + pause_ns;
  shards_ = status.shards;
  replicas_ = status.replicas;
  const std::pair coordinator(status.epoch, status.incarnation);
  if (std::exchange(coordinator_, coordinator) != coordinator) windows_.clear();
  std::string lines;
  const auto line_of = [&](const policies::job_status& job, const policies::job_rates& rates) {
    return rates.seconds <= 0 ? "" : metrics_line(unix_ns, status.epoch, job, rates) + "\n";
  };
  for (const auto& job : status.jobs) {
    if (job.state != policies::job_state::running) {
      // What was since its last line, at its end.
      if (const auto at = windows_.find(job.name); at != windows_.end()) {
        at->second.since_line.add(now, job, status.shards, status.replicas);
        lines += line_of(job, at->second.since_line.rates());
        windows_.erase(at);
      }
      continue;
    }
    auto& window = windows_[job.name];
    window.last_seconds.add(now, job, status.shards, status.replicas);
    window.rates = window.last_seconds.rates();
    window.since_line.add(now, job, status.shards, status.replicas);
    if (!is_due) continue;
    const auto rates = window.since_line.rates();
    const auto line = line_of(job, rates);
    if (line.empty()) continue;
    window.periods.push_back(policies::period_of(job.clock_slowest, rates));
    if (window.periods.size() > periods_kept) window.periods.pop_front();
    lines += line;
    window.since_line = {};
    window.since_line.add(now, job, status.shards, status.replicas);
  }
  if (lines.empty()) return {};
  if (is_due) written_at_ = now;
  return write(lines);
}

const policies::job_rates& run_metrics::rates(const std::string& job) const {
  static const policies::job_rates unknown;
  const auto at = windows_.find(job);
  return at == windows_.end() ? unknown : at->second.rates;
}

std::vector<policies::job_period> run_metrics::last_periods(const std::string& job) const {
  const auto at = windows_.find(job);
  if (at == windows_.end()) return {};
  return {at->second.periods.begin(), at->second.periods.end()};
}

runtime::status run_metrics::open() {
  const auto path = run_dir_ + "/metrics.jsonl";
  file_ = runtime::unique_fd(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR));
  struct stat found {};
  if (!file_ || ::fstat(file_.get(), &found) != 0)
    return {runtime::errc::io_error, path + ": " + std::strerror(errno)};
  bytes_ = static_cast<std::uint64_t>(found.st_size);
  return {};
}

// A line that is not whole is ended by the next one's begin: readers pass over it.
runtime::status run_metrics::write(const std::string& lines) {
  if (!file_)
    if (auto opened = open(); !opened.ok()) return opened;
  if (bytes_ + lines.size() > bytes_max_ && bytes_ > 0) {
    file_.reset();
    const auto path = run_dir_ + "/metrics";
    if (std::rename((path + ".jsonl").c_str(), (path + ".1.jsonl").c_str()) != 0)
      return {runtime::errc::io_error, path + ".jsonl: " + std::strerror(errno)};
    if (auto opened = open(); !opened.ok()) return opened;
  }
  const auto wrote = ::write(file_.get(), lines.data(), lines.size());
  if (wrote > 0) bytes_ += static_cast<std::uint64_t>(wrote);
  if (wrote == static_cast<ssize_t>(lines.size())) return {};
  const auto why = std::string(wrote < 0 ? std::strerror(errno) : "no space left");
  if (wrote > 0 && ::write(file_.get(), "\n", 1) == 1) ++bytes_;
  return {runtime::errc::io_error, run_dir_ + "/metrics.jsonl: " + why};
}

}  // namespace tidegate::launch
