#include "launch/run/attribution.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include <nlohmann/json.hpp>

#include "launch/run/run_metrics.hpp"
#include "launch/text/progress_text.hpp"
#include "launch/text/text_table.hpp"

namespace tidegate::launch {

namespace {

using json = nlohmann::ordered_json;
using cause = held_up_by::cause;

// A worker holds a job up if others wait for it for so much of the time, and so many times as
// long as for another: where all are alike each comes last now and then.
constexpr double share_of_time_least = 0.05;
constexpr double times_others_least = 2;
// Of the time by which it is late, what a longer computation must explain.
constexpr double explained_least = 0.5;

// Of a worker, over all lines or in one.
struct account {
  double seconds = 0;
  double clocks = 0;
  double computes = 0;  // seconds, as are the next
  double calls = 0;
  double waits = 0;
  double late = 0;
  double last = 0;  // clocks

  void add(const account& more) {
    seconds += more.seconds;
    clocks += more.clocks;
    computes += more.computes;
    calls += more.calls;
    waits += more.waits;
    late += more.late;
    last += more.last;
  }
};

struct sample {
  std::uint64_t clock = 0;
  double epoch = 0;
  double seconds = 0;
  std::map<std::uint32_t, account> workers;  // by rank
};

double number_in(const json& from, const char* key) {
  const auto at = from.find(key);
  return at != from.end() && at->is_number() ? at->get<double>() : 0.0;
}

bool is_line_of(const json& line, const std::string& job) {
  return line.is_object() && line.contains("version") && line.contains("workers") &&
         line["workers"].is_array() && line.contains("job") && line["job"] == job;
}

sample sample_of(const json& line) {
  sample of{.clock = static_cast<std::uint64_t>(number_in(line, "clock_slowest")),
            .epoch = number_in(line, "epoch"),
            .seconds = number_in(line, "seconds"),
            .workers = {}};
  for (const auto& worker : line["workers"]) {
    if (!worker.is_object()) continue;
    const auto clocks = number_in(worker, "clocks_per_second") * of.seconds;
    const auto last = number_in(worker, "comes_last") * clocks;
    of.workers[static_cast<std::uint32_t>(number_in(worker, "rank"))] = {
        .seconds = of.seconds,
        .clocks = clocks,
        .computes = number_in(worker, "computes") * of.seconds,
        .calls = number_in(worker, "calls") * of.seconds,
        .waits = number_in(worker, "waits") * of.seconds,
        .late = last * number_in(worker, "late_seconds"),
        .last = last};
  }
  return of;
}

double per_clock(double seconds, const account& of) {
  return of.clocks > 0 ? seconds / of.clocks : 0;
}

// The median over the others.
template <class Value>
double of_others(const std::map<std::uint32_t, account>& workers, std::uint32_t rank,
                 const Value& value) {
  std::vector<double> all;
  for (const auto& [other, of] : workers)
    if (other != rank && of.clocks > 0) all.push_back(value(of));
  if (all.empty()) return 0;
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

// By how much a worker is late for the others: what they have waited, at most. Under async
// nobody waits, and under ssp only who is too far ahead.
double waited_for(std::uint32_t rank, const std::map<std::uint32_t, account>& workers) {
  const auto at = workers.find(rank);
  if (at == workers.end() || at->second.clocks <= 0) return 0;
  const auto waits = [](const account& of) { return per_clock(of.waits, of); };
  return std::min(at->second.late, at->second.clocks * of_others(workers, rank, waits));
}

bool holds_up(std::uint32_t rank, const std::map<std::uint32_t, account>& workers,
              double seconds) {
  const auto late = waited_for(rank, workers);
  const auto others = of_others(workers, rank, [](const account& of) { return of.late; });
  return late > 0 && late >= share_of_time_least * seconds &&
         late >= times_others_least * others;
}

void narrow(std::vector<sample>& samples, const attribution_range& range) {
  if (range.clock) {
    const auto at = std::find_if(samples.begin(), samples.end(), [&](const sample& each) {
      return each.clock >= *range.clock;
    });
    samples.erase(samples.begin(), at);
    if (samples.size() > 1) samples.resize(1);
  }
  if (range.last_clocks == 0 || samples.empty()) return;
  const auto last = samples.back().clock;
  const auto first = last - std::min(last, range.last_clocks);
  std::erase_if(samples, [&](const sample& each) { return each.clock < first; });
}

held_up_by account_for(std::uint32_t rank, const std::map<std::uint32_t, account>& workers,
                       const std::vector<sample>& samples, double seconds) {
  const auto& own = workers.at(rank);
  const auto late = waited_for(rank, workers);
  held_up_by of{.rank = rank,
                .because = cause::arrives,
                .comes_last = own.last / own.clocks,
                .late_seconds = late / own.clocks};
  const auto computes = [](const account& each) { return per_clock(each.computes, each); };
  const auto calls = [](const account& each) { return per_clock(each.calls, each); };
  const auto explains = [&](cause which, const auto& value) {
    const auto others = of_others(workers, rank, value);
    if (value(own) - others < explained_least * of.late_seconds) return false;
    of.because = which;
    of.own_seconds = value(own);
    of.others_seconds = others;
    return true;
  };
  if (!explains(cause::computes, computes)) explains(cause::calls, calls);
  const auto in = std::count_if(samples.begin(), samples.end(), [&](const sample& each) {
    return holds_up(rank, each.workers, each.seconds);
  });
  of.of_the_time = static_cast<double>(in) / static_cast<double>(samples.size());
  of.faster = seconds / std::max(seconds - late, 0.01 * seconds);
  return of;
}

std::string milliseconds(double seconds) {
  return number_text("%.1f ms", 1e3 * seconds);
}

std::string because_text(const held_up_by& of) {
  switch (of.because) {
    case cause::computes:
      return "it computes " + milliseconds(of.own_seconds) + " a clock, the others " +
             milliseconds(of.others_seconds);
    case cause::calls:
      return "its calls take " + milliseconds(of.own_seconds) +
             " a clock, those of the others " + milliseconds(of.others_seconds) +
             ": it copies or sends more slowly";
    case cause::arrives:
      return "it computes no longer than the others, and what it pushes arrives late: its "
             "link, "
             "or its host";
  }
  return {};
}

const char* word_of(cause which) {
  return which == cause::computes ? "computes" : which == cause::calls ? "calls" : "arrives";
}

}  // namespace

std::vector<std::string> jobs_of_metrics(const std::string& lines) {
  std::vector<std::string> jobs;
  std::istringstream from(lines);
  for (std::string text; std::getline(from, text);) {
    const auto line = json::parse(text, nullptr, false);
    if (!line.is_object() || !line.contains("job") || !line["job"].is_string()) continue;
    const auto job = line["job"].get<std::string>();
    if (std::find(jobs.begin(), jobs.end(), job) == jobs.end()) jobs.push_back(job);
  }
  return jobs;
}

runtime::expected<job_attribution> attribute(const std::string& lines, const std::string& job,
                                             const attribution_range& range) {
  std::vector<sample> samples;
  std::istringstream from(lines);
  for (std::string text; std::getline(from, text);) {
    const auto line = json::parse(text, nullptr, false);
    if (!is_line_of(line, job)) continue;
    if (line["version"] != metrics_version)
      return runtime::fail(runtime::errc::invalid_argument,
                           "metrics.jsonl has lines of version " + line["version"].dump() +
                               "; this Tidegate reads version " +
                               std::to_string(metrics_version));
    samples.push_back(sample_of(line));
  }
  // What was done in an epoch before was done again.
  const auto epoch = samples.empty() ? 0 : samples.back().epoch;
  std::erase_if(
      samples, [epoch](const sample& each) { return each.seconds <= 0 || each.epoch < epoch; });
  narrow(samples, range);
  if (samples.empty())
    return runtime::fail(runtime::errc::not_found,
                         "metrics.jsonl says nothing of these clocks of job " + job);
  job_attribution all{
      .job = job, .first_clock = samples.front().clock, .last_clock = samples.back().clock};
  std::map<std::uint32_t, account> workers;
  for (const auto& each : samples) {
    all.seconds += each.seconds;
    for (const auto& [rank, of] : each.workers) workers[rank].add(of);
  }
  all.workers = workers.size();
  for (const auto& [rank, of] : workers)
    if (holds_up(rank, workers, all.seconds))
      all.held_up.push_back(account_for(rank, workers, samples, all.seconds));
  std::stable_sort(
      all.held_up.begin(), all.held_up.end(),
      [](const held_up_by& a, const held_up_by& b) { return a.faster > b.faster; });
  return all;
}

std::string attribution_text(const job_attribution& of) {
  auto text = "job " + of.job + ", " + std::to_string(of.workers) + " workers, clocks " +
              std::to_string(of.first_clock) + " to " + std::to_string(of.last_clock) + ", " +
              duration_text(of.seconds) + "\n";
  if (of.held_up.empty())
    return text +
           "no worker held it up: none came last much more often than the others, for "
           "more than " +
           number_text("%.0f%%", 100 * share_of_time_least) + " of the time\n";
  for (const auto& each : of.held_up)
    text += "worker " + std::to_string(each.rank) + " came last in " +
            number_text("%.0f%%", 100 * each.comes_last) + " of the clocks, which waited " +
            milliseconds(each.late_seconds) + " for it on average, in " +
            number_text("%.0f%%", 100 * each.of_the_time) +
            " of the seconds: " + because_text(each) +
            ". Did it come with the others, the job would be " +
            number_text("%.2f", each.faster) + " times as fast\n";
  return text;
}

std::string attribution_json(const job_attribution& of) {
  json all{{"job", of.job},
           {"workers", of.workers},
           {"first_clock", of.first_clock},
           {"last_clock", of.last_clock},
           {"seconds", of.seconds}};
  all["held_up_by"] = json::array();
  for (const auto& each : of.held_up)
    all["held_up_by"].push_back({{"rank", each.rank},
                                 {"because", word_of(each.because)},
                                 {"comes_last", each.comes_last},
                                 {"late_seconds", each.late_seconds},
                                 {"own_seconds", each.own_seconds},
                                 {"others_seconds", each.others_seconds},
                                 {"of_the_time", each.of_the_time},
                                 {"faster", each.faster}});
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace tidegate::launch
