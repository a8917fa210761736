#include "launch/page/run_history.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include "launch/run/metrics_lines.hpp"
#include "launch/text/json_fields.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::launch {

namespace {

using json = nlohmann::ordered_json;

constexpr std::int64_t ns_per_ms = 1'000'000;
constexpr double ms_per_second = 1e3;

worker_share share_of(const json& worker, double seconds) {
  const auto rates = worker_in(worker, seconds);
  worker_share of{.rank = rates.rank,
                  .clock = count_in(worker, "clock"),
                  .clocks = rates.clocks,
                  .computes = rates.computes * rates.seconds,
                  .calls = rates.calls * rates.seconds,
                  .waits = rates.waits * rates.seconds,
                  .late = rates.late,
                  .last = rates.comes_last * rates.clocks};
  if (of.computes + of.calls + of.waits > 0) of.seconds = rates.seconds;
  return of;
}

// The value below which so many of ten lie.
template <class Value>
double tenth(std::vector<worker_share>& workers, std::size_t tenths, const Value& value) {
  const auto at =
      workers.begin() + static_cast<std::ptrdiff_t>((workers.size() - 1) * tenths / 10);
  std::nth_element(workers.begin(), at, workers.end(),
                   [&](const auto& a, const auto& b) { return value(a) < value(b); });
  return static_cast<double>(value(*at));
}

void add_workers(const json& line, series_point& point) {
  auto& workers = point.workers;
  for (const auto& worker : line["workers"])
    if (worker.is_object()) workers.push_back(share_of(worker, point.seconds));
  point.workers_count = workers.size();
  if (workers.empty()) return;
  for (const auto& of : workers) {
    point.known = std::max(point.known, of.seconds);
    point.computes += of.computes;
    point.calls += of.calls;
    point.waits += of.waits;
  }
  // Some push comes last in each clock, and shards tell now and then: where nobody's did,
  // this line was written before they had told.
  const bool is_seen = std::any_of(workers.begin(), workers.end(),
                                   [](const worker_share& of) { return of.last > 0; });
  if (is_seen)
    for (auto& of : workers) of.seen = of.clocks;
  const auto count = static_cast<double>(workers.size());
  point.computes /= count;
  point.calls /= count;
  point.waits /= count;
  constexpr std::size_t low = 1, middle = 5, high = 9;
  const auto waits = [](const worker_share& of) { return of.waits; };
  point.waits_low = tenth(workers, low, waits);
  point.waits_high = tenth(workers, high, waits);
  const auto median = static_cast<std::uint64_t>(
      tenth(workers, middle, [](const worker_share& of) { return of.clock; }));
  // The two others were looked at a moment earlier or later.
  point.median = std::clamp(median, point.slowest, std::max(point.slowest, point.fastest));
  std::sort(workers.begin(), workers.end(),
            [](const worker_share& a, const worker_share& b) { return a.rank < b.rank; });
}

series_point point_of(const json& line) {
  const auto unix_ns = line.find("unix_ns");
  const bool has_time = unix_ns != line.end() && unix_ns->is_number_integer();
  series_point point;
  point.end_ms = has_time ? unix_ns->get<std::int64_t>() / ns_per_ms : 0;
  point.seconds = number_in(line, "seconds");
  point.begin_ms = point.end_ms - static_cast<std::int64_t>(point.seconds * ms_per_second);
  point.slowest = count_in(line, "clock_slowest");
  point.fastest = count_in(line, "clock_fastest");
  point.clocks = number_in(line, "clocks_per_second") * point.seconds;
  point.samples = number_in(line, "samples_per_second") * point.seconds;
  point.staleness = count_in(line, "staleness_max");
  if (const auto loss = line.find("loss"); loss != line.end() && loss->is_number())
    point.loss = loss->get<double>();
  if (const auto own = line.find("metrics"); own != line.end() && own->is_object())
    for (const auto& [name, value] : own->items())
      if (value.is_number() && point.metrics.size() < runtime::limits::metrics_max)
        point.metrics[name] = value.get<double>();
  add_workers(line, point);
  return point;
}

bool is_of_a_job(const json& line) {
  const auto seconds = number_in(line, "seconds");
  return is_metrics(line) && std::isfinite(seconds) && seconds > 0 && seconds < 1e6;
}

// As many digits as a chart shows: a third of the bytes.
json short_number(double value) {
  if (!std::isfinite(value)) return nullptr;
  if (value == 0) return 0;
  constexpr double digits = 5;
  const auto parts = std::pow(10.0, digits - 1 - std::floor(std::log10(std::abs(value))));
  const auto rounded = std::round(value * parts) / parts;
  constexpr double whole_most = 1e15;
  if (rounded == std::floor(rounded) && std::abs(rounded) < whole_most)
    return static_cast<std::int64_t>(rounded);
  return rounded;
}

json ratio(double part, double whole) {
  return whole > 0 ? short_number(part / whole) : json(nullptr);
}

// A column: a value of each point.
template <class Value>
json column(const std::vector<series_point>& points, std::size_t from, const Value& value) {
  json all = json::array();
  for (auto i = from; i < points.size(); ++i) all.push_back(value(points[i]));
  return all;
}

json worker_columns(const std::vector<series_point>& points, std::size_t from,
                    std::uint32_t rank) {
  json clock = json::array(), computes = clock, calls = clock, waits = clock, late = clock,
       last = clock;
  for (auto i = from; i < points.size(); ++i) {
    const auto& workers = points[i].workers;
    const auto at = std::find_if(workers.begin(), workers.end(),
                                 [&](const worker_share& of) { return of.rank == rank; });
    const bool is_there = at != workers.end();
    clock.push_back(is_there ? json(at->clock) : json(nullptr));
    computes.push_back(is_there ? ratio(at->computes, at->seconds) : json(nullptr));
    calls.push_back(is_there ? ratio(at->calls, at->seconds) : json(nullptr));
    waits.push_back(is_there ? ratio(at->waits, at->seconds) : json(nullptr));
    late.push_back(is_there ? ratio(ms_per_second * at->late, at->seen) : json(nullptr));
    last.push_back(is_there ? ratio(at->last, at->seen) : json(nullptr));
  }
  return {{"rank", rank},   {"clock", clock},  {"computes", computes}, {"calls", calls},
          {"waits", waits}, {"late_ms", late}, {"comes_last", last}};
}

// Names of all points, so that columns of an answer and of that before it are alike.
json metric_columns(const std::vector<series_point>& points, std::size_t from) {
  std::map<std::string, json> all;
  for (const auto& point : points)
    for (const auto& [name, value] : point.metrics)
      if (all.size() < runtime::limits::metrics_max) all.try_emplace(name, json::array());
  for (auto& [name, values] : all)
    values = column(points, from, [&name = name](const series_point& point) {
      const auto at = point.metrics.find(name);
      return at == point.metrics.end() ? json(nullptr) : short_number(at->second);
    });
  return all;
}

// "GENERATION-NUMBER" of the last point that was sent; 0: all are wanted.
std::size_t first_wanted(std::string_view since, const thinned_series& series) {
  std::uint64_t generation = 0;
  std::size_t number = 0;
  const auto* const end = since.data() + since.size();
  const auto [dash, bad] = std::from_chars(since.data(), end, generation);
  if (bad != std::errc() || dash == end || *dash != '-') return 0;
  const auto [rest, worse] = std::from_chars(dash + 1, end, number);
  if (worse != std::errc() || rest != end) return 0;
  return generation == series.generation() && number < series.points().size() ? number : 0;
}

}  // namespace

void run_history::add(std::string_view text) {
  const auto line = json::parse(text, nullptr, false);
  if (!is_of_a_job(line)) return;
  if (auto problem = problem_of_version(line); !problem.empty()) {
    problem_ = std::move(problem);
    return;
  }
  const auto name = line["job"].get<std::string>();
  if (series_.size() >= jobs_most && !series_.contains(name)) return;
  const auto [at, is_new] = series_.try_emplace(name);
  if (is_new) jobs_.push_back(name);
  at->second.add(point_of(line));
}

const thinned_series* run_history::find(const std::string& job) const {
  const auto at = series_.find(job);
  return at == series_.end() ? nullptr : &at->second;
}

std::string series_json(const std::string& job, const thinned_series& series,
                        std::string_view since) {
  const auto& points = series.points();
  const auto from = first_wanted(since, series);
  const auto of = [&](const auto& value) { return column(points, from, value); };
  const auto rate = [&](double series_point::*sum) {
    return of([sum](const series_point& point) { return ratio(point.*sum, point.seconds); });
  };
  const auto share = [&](double series_point::*part) {
    return of([part](const series_point& point) { return ratio(point.*part, point.known); });
  };
  const auto number = [&](std::uint64_t series_point::*field) {
    return of([field](const series_point& point) { return json(point.*field); });
  };
  const auto begin_ms = points.empty() ? 0 : points.front().begin_ms;
  json all{{"job", job},
           {"position", points.empty() ? ""
                                       : std::to_string(series.generation()) + "-" +
                                             std::to_string(points.size() - 1)},
           {"from", from},
           {"begin_ms", begin_ms},
           {"workers_count", points.empty() ? 0 : points.back().workers_count}};
  all["t_ms"] = of([&](const series_point& point) { return json(point.end_ms - begin_ms); });
  all["clock_slowest"] = number(&series_point::slowest);
  all["clock_median"] = number(&series_point::median);
  all["clock_fastest"] = number(&series_point::fastest);
  all["clocks_per_second"] = rate(&series_point::clocks);
  all["samples_per_second"] = rate(&series_point::samples);
  all["computes"] = share(&series_point::computes);
  all["calls"] = share(&series_point::calls);
  all["waits"] = share(&series_point::waits);
  all["waits_low"] = share(&series_point::waits_low);
  all["waits_high"] = share(&series_point::waits_high);
  all["staleness"] = number(&series_point::staleness);
  all["loss"] = of([](const series_point& point) {
    return point.loss ? short_number(*point.loss) : json(nullptr);
  });
  all["metrics"] = metric_columns(points, from);
  all["workers"] = json::array();
  for (const auto rank : series.ranks())
    all["workers"].push_back(worker_columns(points, from, rank));
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace tidegate::launch
