#include "launch/run/run_status.hpp"

#include <cmath>

#include <nlohmann/json.hpp>

#include "launch/run/job_json.hpp"
#include "launch/text/json_fields.hpp"
#include "launch/text/printable.hpp"
#include "launch/text/progress_text.hpp"
#include "launch/text/text_table.hpp"

namespace tidegate::launch {

namespace {

using json = nlohmann::ordered_json;
using row = std::vector<std::string>;

json member_json(const policies::job_status& job, const policies::worker_status& worker,
                 const policies::worker_rates& rates) {
  return {{"rank", worker.rank},
          {"incarnation", worker.incarnation},
          {"joined", worker.joined},
          {"finished", worker.finished},
          {"clock", shown_clock(job, worker)},
          {"samples", worker.samples},
          {"clocks_per_second", finite_json(rates.clocks_per_second)},
          {"samples_per_second", finite_json(rates.samples_per_second)},
          {"computes", finite_json(rates.computes)},
          {"calls", finite_json(rates.calls)},
          {"waits", finite_json(rates.waits)},
          {"comes_last", finite_json(rates.comes_last)},
          {"late_seconds", finite_json(rates.late_seconds)},
          {"late_per_clock", finite_json(rates.late_per_clock())}};
}

json shard_now_json(const policies::shard_rates& rates) {
  return {{"shard", rates.shard},
          {"busy", finite_json(rates.busy)},
          {"answers_last", finite_json(rates.answers_last)},
          {"late_seconds", finite_json(rates.late_seconds)},
          {"stopped", finite_json(rates.pressure.stopped)},
          {"starved", finite_json(rates.pressure.starved)},
          {"replica", finite_json(rates.replica)},
          {"bytes_in_per_second", finite_json(rates.bytes_in_per_second)},
          {"bytes_out_per_second", finite_json(rates.bytes_out_per_second)},
          {"in_place", rates.in_place},
          {"resident_bytes", rates.resident_bytes},
          {"pushes_held", rates.pushes_held}};
}

json replica_now_json(const policies::replica_rates& rates) {
  return {{"process", rates.process},
          {"shard", rates.shard},
          {"busy", finite_json(rates.busy)},
          {"stopped", finite_json(rates.pressure.stopped)},
          {"starved", finite_json(rates.pressure.starved)},
          {"bytes_in_per_second", finite_json(rates.bytes_in_per_second)},
          {"resident_bytes", rates.resident_bytes}};
}

json live_json(const run_view::job& of) {
  const auto& job = of.status;
  auto all = job_json(job);
  all["clock_slowest"] = job.clock_slowest;
  all["clock_fastest"] = job.clock_fastest;
  all["clocks_total"] = job.clocks_total == 0 ? json(nullptr) : json(job.clocks_total);
  all["workers"] = job.workers;
  all["workers_joined"] = job.workers_joined;
  all["workers_finished"] = job.workers_finished;
  all["checkpoints"] = job.checkpoints;
  all["checkpoint_clock"] = job.checkpoints == 0 ? json(nullptr) : json(job.checkpoint_clock);
  all["last_seconds"] = {{"seconds", finite_json(of.rates.seconds)},
                         {"clocks_per_second", finite_json(of.rates.clocks_per_second)},
                         {"samples_per_second", finite_json(of.rates.samples_per_second)}};
  all["members"] = json::array();
  for (std::size_t i = 0; i < job.members.size(); ++i)
    all["members"].push_back(member_json(
        job, job.members[i],
        i < of.rates.workers.size() ? of.rates.workers[i] : policies::worker_rates()));
  all["shards"] = json::array();
  for (const auto& shard : of.rates.shards) all["shards"].push_back(shard_now_json(shard));
  all["replicas"] = json::array();
  for (const auto& replica : of.rates.replicas)
    all["replicas"].push_back(replica_now_json(replica));
  return all;
}

json process_json(const run_view& run, const live_process& process) {
  const auto& host = run.hosts.at(process.host).name;
  return {{"name", process.name.to_string()},
          {"pid", process.pid},
          {"host", host.empty() ? json(nullptr) : json(host)},
          {"incarnation", process.incarnation}};
}

std::string dump(const json& all) {
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

bool is_status(const json& all) {
  return all.is_object() && all.contains("jobs") && all["jobs"].is_array();
}

std::string begin_of(const std::string& text) {
  constexpr std::size_t shown_bytes = 80;
  return printable(text.substr(0, shown_bytes));
}

std::string text_of(const json& from, const char* key) {
  return printable(text_in(from, key));
}

std::string number_of(const json& from, const char* key, const char* format) {
  const auto at = from.find(key);
  return at != from.end() && at->is_number() ? number_text(format, at->get<double>()) : "-";
}

// "22..24 of 400"; of a run that has ended: "400".
std::string clock_of(const json& job) {
  if (!job.contains("clock_slowest")) return std::to_string(count_in(job, "clocks"));
  const auto slowest = count_in(job, "clock_slowest");
  const auto fastest = count_in(job, "clock_fastest");
  const auto total = count_in(job, "clocks_total");
  auto text = std::to_string(slowest);
  if (fastest > slowest) text += ".." + std::to_string(fastest);
  return total == 0 ? text : text + " of " + std::to_string(total);
}

std::string workers_of(const json& job) {
  if (!job.contains("workers")) return "-";
  return std::to_string(count_in(job, "workers_joined")) + " of " +
         std::to_string(count_in(job, "workers"));
}

std::string jobs_table(const json& jobs) {
  std::vector<row> rows{
      {"job", "policy", "state", "clock", "workers", "restarts", "loss", "samples/s", "time"}};
  for (const auto& job : jobs) {
    const auto seconds = job.find("wall_seconds");
    rows.push_back(
        {text_of(job, "name"), text_of(job, "policy"), text_of(job, "state"), clock_of(job),
         workers_of(job),
         job.contains("restarts") ? std::to_string(count_in(job, "restarts")) : "-",
         number_of(job, "loss", "%.4f"), number_of(job, "samples_per_second", "%.0f"),
         seconds != job.end() && seconds->is_number() ? duration_text(seconds->get<double>())
                                                      : "-"});
  }
  return format_table(rows, {5, 6, 7, 8});
}

std::string processes_table(const json& processes) {
  std::vector<row> rows{{"process", "host", "pid", "incarnation"}};
  for (const auto& process : processes)
    rows.push_back({text_of(process, "name"), text_of(process, "host"),
                    std::to_string(count_in(process, "pid")),
                    std::to_string(count_in(process, "incarnation"))});
  return "\n" + format_table(rows, {2, 3});
}

std::string share_of(const json& from, const char* key) {
  const auto at = from.find(key);
  return at != from.end() && at->is_number() ? number_text("%.0f%%", 100 * at->get<double>())
                                             : "-";
}

// Of jobs that go on, where the time of their workers went in the last seconds.
std::string workers_table(const json& jobs) {
  std::vector<row> rows{{"job", "rank", "clock", "clocks/s", "samples/s", "computes", "calls",
                         "waits", "comes last", "late"}};
  for (const auto& job : jobs)
    for (const auto& worker : list_in(job, "members")) {
      if (text_of(job, "state") != "running") continue;
      const auto late = worker.find("late_per_clock");
      rows.push_back(
          {text_of(job, "name"), std::to_string(count_in(worker, "rank")),
           std::to_string(count_in(worker, "clock")),
           number_of(worker, "clocks_per_second", "%.1f"),
           number_of(worker, "samples_per_second", "%.0f"), share_of(worker, "computes"),
           share_of(worker, "calls"), share_of(worker, "waits"), share_of(worker, "comes_last"),
           late != worker.end() && late->is_number() ? milliseconds(late->get<double>())
                                                     : "-"});
    }
  return rows.size() == 1 ? "" : "\n" + format_table(rows, {1, 2, 3, 4, 5, 6, 7, 8, 9});
}

std::string failures_of(const json& jobs) {
  std::string text;
  for (const auto& job : jobs)
    if (const auto why = text_of(job, "failure"); why != "-")
      text += "job " + text_of(job, "name") + ": " + why + "\n";
  return text;
}

}  // namespace

std::string status_line(const run_view& run) {
  json all{{"cluster", run.cluster}, {"state", run.state}};
  all["epoch"] = run.epoch;
  all["monitor"] = run.monitor.empty() ? json(nullptr) : json(run.monitor);
  all["jobs"] = json::array();
  for (const auto& job : run.jobs) all["jobs"].push_back(live_json(job));
  all["processes"] = json::array();
  for (const auto& process : run.processes)
    all["processes"].push_back(process_json(run, process));
  all["hosts"] = json::array();
  for (const auto& host : run.hosts)
    if (!host.name.empty())
      all["hosts"].push_back({{"name", host.name}, {"state", host.state}});
  all["waits"] = json::array();
  for (const auto& wait : run.waits)
    all["waits"].push_back(
        {{"waiter", wait.waiter}, {"awaited", wait.awaited}, {"seconds", wait.seconds}});
  return dump(all);
}

runtime::expected<std::string> status_of_result(const std::string& result_json) {
  auto all = json::parse(result_json, nullptr, false);
  if (!is_status(all) || !all.contains("exit_code"))
    return runtime::fail(runtime::errc::corrupt,
                         "no result of a run: " + begin_of(result_json));
  all["state"] = "ended";
  for (const auto* none : {"processes", "hosts", "waits"}) all[none] = json::array();
  return dump(all);
}

runtime::expected<std::string> status_text(const std::string& line) {
  const auto all = json::parse(line, nullptr, false);
  if (!is_status(all))
    return runtime::fail(runtime::errc::corrupt, "no status of a run: " + begin_of(line));
  const auto code = all.find("exit_code");
  auto text = "cluster " + text_of(all, "cluster") +
              (code != all.end() && code->is_number_integer()
                   ? " has ended, exit code " + std::to_string(code->get<int>())
                   : " is " + text_of(all, "state")) +
              "\n\n" + jobs_table(all["jobs"]) + failures_of(all["jobs"]) +
              workers_table(all["jobs"]);
  if (const auto& processes = list_in(all, "processes"); !processes.empty())
    text += processes_table(processes);
  for (const auto& host : list_in(all, "hosts"))
    if (const auto state = text_of(host, "state"); state != "up")
      text += "host " + text_of(host, "name") + " is " + state + "\n";
  for (const auto& wait : list_in(all, "waits"))
    text += text_of(wait, "waiter") + " has waited " +
            duration_text(number_in(wait, "seconds")) + " for " + text_of(wait, "awaited") +
            "\n";
  return text;
}

}  // namespace tidegate::launch
