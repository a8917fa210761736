#include "launch/run/attribution.hpp"

#include <algorithm>
#include <istream>
#include <utility>

#include <nlohmann/json.hpp>

#include "launch/run/json_fields.hpp"
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

using account = metrics_record::account;
using accounts = metrics_record::accounts;
using sample = metrics_record::sample;

void add(account& to, const account& more) {
  to.clocks += more.clocks;
  to.computes += more.computes;
  to.calls += more.calls;
  to.waits += more.waits;
  to.late += more.late;
  to.last += more.last;
}

bool is_metrics(const json& line) {
  return line.is_object() && line.contains("version") && line.contains("workers") &&
         line["workers"].is_array() && line.contains("job") && line["job"].is_string();
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
double of_others(const accounts& workers, std::uint32_t rank, const Value& value) {
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
double waited_for(std::uint32_t rank, const accounts& workers) {
  const auto at = workers.find(rank);
  if (at == workers.end() || at->second.clocks <= 0) return 0;
  const auto waits = [](const account& of) { return per_clock(of.waits, of); };
  return std::min(at->second.late, at->second.clocks * of_others(workers, rank, waits));
}

bool holds_up(std::uint32_t rank, const accounts& workers, double seconds) {
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

held_up_by account_for(std::uint32_t rank, const accounts& workers,
                       const std::vector<sample>& samples, double seconds) {
  const auto& own = workers.at(rank);
  const auto late = waited_for(rank, workers);
  held_up_by of{.rank = rank,
                .because = cause::arrives,
                .comes_last = own.last / own.clocks,
                .late_seconds = late / own.clocks};
  const auto computes = [](const account& each) { return per_clock(each.computes, each); };
  const auto calls = [](const account& each) { return per_clock(each.calls, each); };
  const auto explains = [&](cause candidate, const auto& value) {
    const auto others = of_others(workers, rank, value);
    if (value(own) - others < explained_least * of.late_seconds) return false;
    of.because = candidate;
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
             "link, or its host";
  }
  return {};
}

const char* word_of(cause because) {
  switch (because) {
    case cause::computes:
      return "computes";
    case cause::calls:
      return "calls";
    case cause::arrives:
      break;
  }
  return "arrives";
}

}  // namespace

runtime::status metrics_record::read(std::istream& lines) {
  for (std::string text; std::getline(lines, text);) {
    const auto line = json::parse(text, nullptr, false);
    if (!is_metrics(line)) continue;
    if (line["version"] != metrics_version)
      return {runtime::errc::invalid_argument,
              "metrics.jsonl has lines of version " + line["version"].dump() +
                  "; this Tidegate reads version " + std::to_string(metrics_version)};
    const auto job = line["job"].get<std::string>();
    const auto [at, is_new] = samples_.try_emplace(job);
    if (is_new) jobs_.push_back(job);
    auto next = sample_of(line);
    // What was done in an epoch before was done again.
    if (!at->second.empty() && at->second.back().epoch != next.epoch) at->second.clear();
    if (next.seconds > 0) at->second.push_back(std::move(next));
  }
  return {};
}

runtime::expected<job_attribution> metrics_record::attribute(
    const std::string& job, const attribution_range& range) const {
  const auto of_job = samples_.find(job);
  auto samples = of_job == samples_.end() ? std::vector<sample>() : of_job->second;
  narrow(samples, range);
  if (samples.empty())
    return runtime::fail(runtime::errc::not_found,
                         "metrics.jsonl says nothing of these clocks of job " + job);
  job_attribution all{
      .job = job, .first_clock = samples.front().clock, .last_clock = samples.back().clock};
  accounts workers;
  for (const auto& each : samples) {
    all.seconds += each.seconds;
    for (const auto& [rank, of] : each.workers) add(workers[rank], of);
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

std::string to_text(const held_up_by& worker) {
  return "worker " + std::to_string(worker.rank) + " came last in " +
         number_text("%.0f%%", 100 * worker.comes_last) + " of the clocks, which waited " +
         milliseconds(worker.late_seconds) + " for it on average, in " +
         number_text("%.0f%%", 100 * worker.of_the_time) +
         " of the seconds: " + because_text(worker) +
         ". Did it come with the others, the job would be " +
         number_text("%.2f", worker.faster) + " times as fast";
}

std::string attribution_text(const job_attribution& of) {
  auto text = "job " + of.job + ", " + std::to_string(of.workers) + " workers, clocks " +
              std::to_string(of.first_clock) + " to " + std::to_string(of.last_clock) + ", " +
              duration_text(of.seconds) + "\n";
  if (of.held_up.empty())
    return text + "no worker held it up: for none the others waited " +
           number_text("%.0f%%", 100 * share_of_time_least) +
           " of the time, and twice as long as for another\n";
  for (const auto& each : of.held_up) text += to_text(each) + "\n";
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
