#include "launch/run/attribution.hpp"

#include <algorithm>
#include <istream>
#include <utility>

#include <nlohmann/json.hpp>

#include "launch/run/metrics_lines.hpp"
#include "launch/text/progress_text.hpp"
#include "launch/text/text_table.hpp"

namespace tidegate::launch {

namespace {

using json = nlohmann::ordered_json;
using policies::held_up_by;
using policies::job_period;
using cause = held_up_by::cause;
using party = held_up_by::party;

// Lines of before have no shards, and less of workers.
job_period period_in(const json& line) {
  policies::job_rates rates{.seconds = number_in(line, "seconds")};
  for (const auto& worker : line["workers"])
    if (worker.is_object()) rates.workers.push_back(worker_in(worker, rates.seconds));
  const auto shards = line.find("shards");
  if (shards != line.end() && shards->is_array())
    for (const auto& shard : *shards)
      if (shard.is_object())
        rates.shards.push_back({.shard = index_in(shard, "shard"),
                                .seconds = seconds_in(shard, rates.seconds),
                                .answers_last = number_in(shard, "answers_last"),
                                .late_seconds = number_in(shard, "late_seconds"),
                                .waits = number_in(shard, "waits"),
                                .busy = number_in(shard, "busy"),
                                .replica = number_in(shard, "replica"),
                                .pressure = pressure_in(shard)});
  auto of = policies::period_of(count_in(line, "clock_slowest"), rates);
  of.epoch = number_in(line, "epoch");
  if (const auto at = line.find("checkpoint"); at != line.end() && at->is_object())
    of.checkpoints.push_back(checkpoint_in(*at));
  return of;
}

void narrow(std::vector<job_period>& samples, const attribution_range& range) {
  if (range.clock) {
    const auto at = std::find_if(samples.begin(), samples.end(), [&](const job_period& each) {
      return each.clock >= *range.clock;
    });
    samples.erase(samples.begin(), at);
    if (samples.size() > 1) samples.resize(1);
  }
  if (range.last_clocks == 0 || samples.empty()) return;
  const auto last = samples.back().clock;
  const auto first = last - std::min(last, range.last_clocks);
  std::erase_if(samples, [&](const job_period& each) { return each.clock < first; });
}

std::string because_text(const held_up_by& of) {
  const auto compared = [&of](const std::string& own, const std::string& others) {
    auto text = own + milliseconds(of.own_seconds) + " a clock";
    return of.has_others ? text + ", " + others + milliseconds(of.others_seconds) : text;
  };
  switch (of.because) {
    case cause::stopped:
      return "its process was stopped for " + milliseconds(of.own_seconds) +
             " a clock, by a signal, a debugger or its host";
    case cause::starved:
      return compared("it was ready and had no processor for ", "the others ");
    case cause::disk_faults:
      return "its memory is on a disk: it read " + number_text("%.0f", of.own_seconds) +
             " pages a clock from there, the others " + number_text("%.0f", of.others_seconds);
    case cause::memory:
      return compared("its host is short of memory: programs there waited for it ",
                      "on the hosts of the others ");
    case cause::garbage:
      return compared("its language collects garbage for ", "the others ");
    case cause::computes:
      return compared("it computes ", "the others ");
    case cause::calls:
      return compared("its calls take ", "those of the others ") +
             ": it copies or sends more slowly";
    case cause::busy:
      return compared("it is busy ", "the others ") + ": its steps take longer";
    case cause::replica:
      return compared("steps wait for its replica for ", "those of the others ") +
             ": the replica is slow, or what is between them";
    case cause::arrives:
      break;
  }
  return of.kind == party::worker
             ? "it computes no longer than the others, and what it pushes arrives late: its "
               "link, or its host"
             : "it is not busier than the others, and its answers arrive late: its link, its "
               "host, or its device";
}

const char* word_of(cause because) {
  switch (because) {
    case cause::stopped:
      return "stopped";
    case cause::starved:
      return "starved";
    case cause::disk_faults:
      return "disk_faults";
    case cause::memory:
      return "memory";
    case cause::garbage:
      return "garbage";
    case cause::computes:
      return "computes";
    case cause::calls:
      return "calls";
    case cause::busy:
      return "busy";
    case cause::replica:
      return "replica";
    case cause::arrives:
      break;
  }
  return "arrives";
}

json late_checkpoint_json(const policies::late_checkpoint& of) {
  using writer = policies::late_checkpoint::writer;
  const auto* const slow = of.slow == writer::shard        ? "shard"
                           : of.slow == writer::all_shards ? "all_shards"
                                                           : "coordinator";
  const auto& worst = of.worst;
  return {{"writer", slow},
          {"late_seconds", of.late_seconds},
          {"clock", worst.clock},
          {"seconds", worst.seconds},
          {"shard", worst.shard},
          {"part_seconds", worst.part},
          {"part_bytes", worst.part_bytes},
          {"others_seconds", worst.others},
          {"others_bytes", worst.others_bytes},
          {"manifest_seconds", worst.manifest}};
}

}  // namespace

runtime::status metrics_record::read(std::istream& lines) {
  for (std::string text; std::getline(lines, text);) {
    const auto line = json::parse(text, nullptr, false);
    if (!is_metrics(line)) continue;
    if (auto problem = problem_of_version(line); !problem.empty())
      return {runtime::errc::invalid_argument, std::move(problem)};
    const auto job = line["job"].get<std::string>();
    const auto [at, is_new] = periods_.try_emplace(job);
    if (is_new) jobs_.push_back(job);
    auto next = period_in(line);
    // What was done in an epoch before was done again.
    if (!at->second.empty() && at->second.back().epoch != next.epoch) at->second.clear();
    if (next.seconds > 0) at->second.push_back(std::move(next));
  }
  return {};
}

runtime::expected<job_attribution> metrics_record::attribute(
    const std::string& job, const attribution_range& range) const {
  const auto of_job = periods_.find(job);
  auto periods = of_job == periods_.end() ? std::vector<job_period>() : of_job->second;
  narrow(periods, range);
  if (periods.empty())
    return runtime::fail(runtime::errc::not_found,
                         "metrics.jsonl says nothing of these clocks of job " + job);
  return attribution_of(job, periods);
}

job_attribution attribution_of(const std::string& job, const std::vector<job_period>& periods) {
  job_period sums;
  for (const auto& each : periods) add(sums, each);
  return job_attribution{.job = job,
                         .first_clock = periods.front().clock,
                         .last_clock = periods.back().clock,
                         .seconds = sums.seconds,
                         .workers = sums.workers.size(),
                         .held_up = policies::held_up(periods),
                         .checkpoint = policies::late_checkpoint_in(periods)};
}

std::string to_text(const held_up_by& of) {
  const bool is_worker = of.kind == party::worker;
  const auto seconds = number_text("%.0f%%", 100 * of.of_the_time) + " of the seconds";
  auto text = (is_worker ? "worker " : "shard ") + std::to_string(of.number) +
              " holds the job up by " + milliseconds(of.late_seconds) +
              " a clock: " + because_text(of);
  // Of one shard alone nobody can say whether it comes last.
  if (is_worker || of.comes_last > 0)
    text += ". It" + std::string(is_worker ? " came" : " answered") + " last in " +
            number_text("%.0f%%", 100 * of.comes_last) + " of the clocks, and held it up in " +
            seconds;
  else
    text += ". It did in " + seconds;
  return text + "; without that the job would be " + number_text("%.2f", of.faster) +
         " times as fast";
}

std::string to_text(const policies::late_checkpoint& of) {
  const auto seconds = [](double lasted) { return number_text("%.1f s", lasted); };
  using writer = policies::late_checkpoint::writer;
  const auto& worst = of.worst;
  auto text = "checkpoints come late, by " + seconds(of.late_seconds) +
              " in all: that of clock " + std::to_string(worst.clock) + " took " +
              seconds(worst.seconds) + "; ";
  const auto part = std::to_string(worst.shard) + " wrote " +
                    bytes_for_people(worst.part_bytes) + " for " + seconds(worst.part);
  switch (of.slow) {
    case writer::shard:
      text += "shard " + part;
      if (worst.others > 0) text += ", another " + seconds(worst.others) + " at most";
      return text + ": its disk, or the store";
    case writer::all_shards:
      return text + "all shards write slowly, shard " + part + ": their disk, or the store";
    case writer::coordinator:
      break;
  }
  return text + "the coordinator wrote its manifest for " + seconds(worst.manifest) +
         ": its disk, or the store";
}

std::vector<std::string> reasons_text(const job_attribution& of) {
  std::vector<std::string> all;
  for (const auto& each : of.held_up) all.push_back(to_text(each));
  if (of.checkpoint) all.push_back(to_text(*of.checkpoint));
  return all;
}

std::string attribution_text(const job_attribution& of) {
  auto text = "job " + of.job + ", " + std::to_string(of.workers) + " workers, clocks " +
              std::to_string(of.first_clock) + " to " + std::to_string(of.last_clock) + ", " +
              duration_text(of.seconds) + "\n";
  if (of.held_up.empty())
    text += "nobody held it up: for no worker and no shard the others waited " +
            number_text("%.0f%%", 100 * policies::held_up_least) +
            " of the time, and twice as long as for another\n";
  for (const auto& reason : reasons_text(of)) text += reason + "\n";
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
    all["held_up_by"].push_back({{each.kind == party::worker ? "rank" : "shard", each.number},
                                 {"because", word_of(each.because)},
                                 {"comes_last", each.comes_last},
                                 {"late_seconds", each.late_seconds},
                                 {"own_seconds", each.own_seconds},
                                 {"others_seconds", each.others_seconds},
                                 {"of_the_time", each.of_the_time},
                                 {"faster", each.faster}});
  if (of.checkpoint) all["late_checkpoint"] = late_checkpoint_json(*of.checkpoint);
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace tidegate::launch
