#include "launch/trace/clock_text.hpp"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "launch/text/printable.hpp"
#include "launch/text/text_table.hpp"

namespace tidegate::launch {

namespace {

using json = nlohmann::ordered_json;
using row = std::vector<std::string>;

double seconds(std::uint64_t ns) {
  return std::round(static_cast<double>(ns) / 1e3) / 1e6;  // as few digits as it has
}

std::string cell_of(std::uint64_t ns) {
  return number_text("%.1f", static_cast<double>(ns) * 1e-6);
}

std::uint64_t took_ns(const worker_clock& of) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, of.ended_ns - of.began_ns));
}

// The median over workers, but for this one.
template <class Value>
std::string median(const clock_record& of, std::optional<std::uint32_t> but,
                   const Value& value) {
  std::vector<std::uint64_t> all;
  for (const auto& [rank, worker] : of.workers)
    if (rank != but) all.push_back(value(worker));
  if (all.empty()) return "-";
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return cell_of(*middle);
}

row cells_of(const clock_record& of) {
  const auto last = of.last_rank();
  row cells{std::to_string(of.clock), median(of, std::nullopt, took_ns)};
  if (last) {
    const auto& worker = of.workers.at(*last);
    cells.insert(cells.end(),
                 {std::to_string(*last), cell_of(worker.late_ns), cell_of(worker.compute_ns()),
                  cell_of(worker.call_ns), cell_of(worker.wait_ns)});
  } else {
    cells.insert(cells.end(), {"-", "-", "-", "-", "-"});
  }
  cells.push_back(median(of, last, [](const auto& each) { return each.compute_ns(); }));
  cells.push_back(median(of, last, [](const auto& each) { return each.wait_ns; }));
  const auto shard = of.last_shard();
  cells.push_back(shard ? std::to_string(*shard) : "-");
  return cells;
}

json worker_json(std::uint32_t rank, const worker_clock& of) {
  json worker{{"rank", rank},
              {"incarnation", of.incarnation},
              {"began_ns", of.began_ns},
              {"pushed_ns", of.pushed_ns == 0 ? json(nullptr) : json(of.pushed_ns)},
              {"ended_ns", of.ended_ns},
              {"computes_seconds", seconds(of.compute_ns())},
              {"calls_seconds", seconds(of.call_ns)},
              {"waits_seconds", seconds(of.wait_ns)},
              {"late_seconds", seconds(of.late_ns)}};
  if (of.waits) {
    worker["gate_seconds"] = seconds(of.waits->gate_ns);
    worker["gate_rank"] = of.waits->gate_rank ? json(*of.waits->gate_rank) : json(nullptr);
    worker["shard_seconds"] = seconds(of.waits->shard_ns);
    worker["network_seconds"] = seconds(of.waits->network_ns);
    worker["credit_seconds"] = seconds(of.waits->credit_ns);
    worker["replica_seconds"] = seconds(of.waits->replica_ns);
  }
  worker["pushed_bytes"] = of.pushed_bytes;
  worker["staleness"] = of.staleness ? json(*of.staleness) : json(nullptr);
  if (of.last_shard) {
    worker["last_shard"] = *of.last_shard;
    worker["shard_late_seconds"] = seconds(of.shard_late_ns);
  }
  return worker;
}

row worker_cells(std::uint32_t rank, const worker_clock& of) {
  row cells{std::to_string(rank),     cell_of(took_ns(of)), cell_of(of.late_ns),
            cell_of(of.compute_ns()), cell_of(of.call_ns),  cell_of(of.wait_ns)};
  if (of.waits) {
    const auto& waits = *of.waits;
    cells.push_back(cell_of(waits.gate_ns));
    cells.push_back(waits.gate_rank ? std::to_string(*waits.gate_rank) : "-");
    for (const auto part :
         {waits.shard_ns, waits.network_ns, waits.credit_ns, waits.replica_ns})
      cells.push_back(cell_of(part));
  } else {
    cells.insert(cells.end(), {"-", "-", "-", "-", "-", "-"});
  }
  cells.push_back(bytes_for_people(of.pushed_bytes));
  cells.push_back(of.staleness ? std::to_string(*of.staleness) : "-");
  return cells;
}

}  // namespace

std::string workers_table(const clock_record& record) {
  std::vector<row> rows{{"worker", "took", "late", "computes", "calls", "waits", "policy",
                         "for", "shard", "network", "room", "replica", "pushed", "stale"}};
  for (const auto& [rank, worker] : record.workers) rows.push_back(worker_cells(rank, worker));
  return "job " + printable(record.job) + ", clock " + std::to_string(record.clock) +
         ", milliseconds\n" +
         format_table(rows, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13});
}

std::string clocks_table(const std::vector<clock_record>& records) {
  std::string text;
  for (std::size_t begin = 0; begin < records.size();) {
    const auto& job = records[begin].job;
    std::vector<row> rows{{"clock", "took", "last", "late", "computes", "calls", "waits",
                           "others compute", "and wait", "last shard"}};
    auto end = begin;
    for (; end < records.size() && records[end].job == job; ++end)
      rows.push_back(cells_of(records[end]));
    if (!text.empty()) text += "\n";
    text += "job " + printable(job) + ", milliseconds\n" +
            format_table(rows, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    begin = end;
  }
  return text;
}

std::string clocks_json(const std::vector<clock_record>& records) {
  std::string text;
  for (const auto& of : records) {
    const auto last = of.last_rank();
    json line{{"version", clocks_version}, {"job", of.job}, {"clock", of.clock}};
    line["last"] = last ? json(*last) : json(nullptr);
    line["late_seconds"] = seconds(last ? of.workers.at(*last).late_ns : 0);
    line["workers"] = json::array();
    for (const auto& [rank, worker] : of.workers)
      line["workers"].push_back(worker_json(rank, worker));
    text += line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  }
  return text;
}

}  // namespace tidegate::launch
