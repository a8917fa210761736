#include "launch/screen/shard_rows.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "launch/screen/table_cells.hpp"
#include "launch/text/json_fields.hpp"

namespace tidegate::launch {

namespace {

constexpr std::size_t busy_columns_least = 8;
constexpr const char* busy_legend = "# busy . idle";

std::string bytes_text(double bytes) {
  return bytes_for_people(static_cast<std::uint64_t>(std::max(0.0, bytes)));
}

// Workers on the shard's host read in place, and nothing is sent.
std::string sent_text(const shard_row& row) {
  return row.in_place ? "in place" : bytes_text(row.bytes_out);
}

// A column of the table, beside the bar. Where there is less room the last go first.
struct shard_column {
  const char* heading;
  std::size_t width;
  std::string (*cell)(const shard_row&);
};

constexpr const char* nothing = "";  // of a replica: workers know nothing of it

constexpr shard_column shard_columns[] = {
    {"shard", 5,
     [](const shard_row& row) {
       return (row.is_named ? "*" : "") + std::to_string(row.shard) +
              (row.is_replica ? "r" : "");
     }},
    {"last", 5,
     [](const shard_row& row) { return row.is_replica ? nothing : percent(row.last); }},
    {"late", 9,
     [](const shard_row& row) { return row.is_replica ? nothing : milliseconds(row.late); }},
    {"in/s", 10, [](const shard_row& row) { return bytes_text(row.bytes_in); }},
    {"out/s", 10,
     [](const shard_row& row) { return row.is_replica ? nothing : sent_text(row); }},
    {"memory", 10, [](const shard_row& row) { return bytes_for_people(row.resident_bytes); }},
    {"queue", 5,
     [](const shard_row& row) {
       return row.is_replica ? nothing : std::to_string(row.pushes_held);
     }},
    {"starved", 7, [](const shard_row& row) { return percent(row.starved); }},
    {"stopped", 7, [](const shard_row& row) { return percent(row.stopped); }},
};

std::string more_shards(std::size_t count) {
  return "and " + std::to_string(count) + (count == 1 ? " more shard" : " more shards");
}

styled_line shard_line(const shard_row& row, std::size_t shown, std::size_t bar) {
  const auto style = row.is_named ? text_style::bad : text_style::plain;
  styled_line line;
  for (std::size_t i = 0; i < shown; ++i)
    line.push_back({fitted(shard_columns[i].cell(row), shard_columns[i].width, true) +
                        std::string(column_gap, ' '),
                    style});
  const auto busy = static_cast<std::size_t>(
      std::lround(std::clamp(row.busy, 0.0, 1.0) * static_cast<double>(bar)));
  line.push_back({std::string(busy, '#'), text_style::computes});
  line.push_back({std::string(bar - busy, '.'), text_style::waits});
  return line;
}

// Of a job that runs.
void add_replicas(const nlohmann::json& job,
                  std::map<std::uint64_t, std::map<std::string, shard_row>>& to) {
  for (const auto& replica : list_in(job, "replicas")) {
    const auto shard = count_in(replica, "shard");
    to[shard][text_in(replica, "process")] = {
        .shard = shard,
        .busy = number_in(replica, "busy"),
        .stopped = number_in(replica, "stopped"),
        .starved = number_in(replica, "starved"),
        .bytes_in = number_in(replica, "bytes_in_per_second"),
        .resident_bytes = count_in(replica, "resident_bytes"),
        .is_replica = true};
  }
}

}  // namespace

std::vector<shard_row> shards_of(const nlohmann::json& status,
                                 const std::vector<std::uint64_t>& named) {
  std::map<std::uint64_t, shard_row> rows;
  std::map<std::uint64_t, std::map<std::string, shard_row>> replicas;  // by shard and process
  for (const auto& job : list_in(status, "jobs")) {
    if (text_in(job, "state", "") != "running") continue;
    add_replicas(job, replicas);
    for (const auto& shard : list_in(job, "shards")) {
      const auto number = count_in(shard, "shard");
      auto& row = rows[number];
      row.shard = number;
      row.busy = std::max(row.busy, number_in(shard, "busy"));
      row.stopped = std::max(row.stopped, number_in(shard, "stopped"));
      row.starved = std::max(row.starved, number_in(shard, "starved"));
      row.bytes_in = std::max(row.bytes_in, number_in(shard, "bytes_in_per_second"));
      row.bytes_out = std::max(row.bytes_out, number_in(shard, "bytes_out_per_second"));
      row.resident_bytes = count_in(shard, "resident_bytes");
      const auto in_place = shard.find("in_place");
      row.in_place = in_place != shard.end() && in_place->is_boolean() && in_place->get<bool>();
      row.pushes_held = count_in(shard, "pushes_held");
      const auto last = number_in(shard, "answers_last");
      const auto late = last * number_in(shard, "late_seconds");
      if (late < row.late) continue;
      row.last = last;
      row.late = late;
    }
  }
  std::vector<shard_row> all;
  for (auto& [number, row] : rows) {
    row.is_named = std::find(named.begin(), named.end(), number) != named.end();
    all.push_back(row);
    for (const auto& [process, replica] : replicas[number]) all.push_back(replica);
  }
  return all;
}

std::vector<styled_line> shard_lines(std::vector<shard_row> rows, std::size_t columns,
                                     std::size_t rows_most) {
  std::vector<styled_line> lines;
  if (rows.empty() || rows_most < 2) return lines;
  if (rows.size() >= rows_most)
    std::erase_if(rows, [](const shard_row& of) { return of.is_replica; });
  const bool fits = rows.size() < rows_most;
  if (!fits)
    std::stable_sort(rows.begin(), rows.end(), [](const shard_row& a, const shard_row& b) {
      return std::pair(a.is_named, a.busy) > std::pair(b.is_named, b.busy);
    });
  std::size_t shown = 0;
  std::size_t used = 0;
  std::string heading;
  for (const auto& column : shard_columns) {
    const auto more = column.width + column_gap;
    if (shown > 0 && used + more + busy_columns_least > columns) break;
    heading += fitted(column.heading, column.width, true) + std::string(column_gap, ' ');
    used += more;
    ++shown;
  }
  const auto bar = used < columns ? std::min(columns - used, bar_columns_most) : 0;
  lines.push_back({{heading + std::string(busy_legend).substr(0, bar), text_style::heading}});
  // A line says how many there are beside, if that leaves one to be shown.
  const auto room = rows_most - 1;
  const auto count = fits ? rows.size() : std::max<std::size_t>(1, room - 1);
  for (std::size_t i = 0; i < count; ++i) lines.push_back(shard_line(rows[i], shown, bar));
  if (!fits && count < room) lines.push_back({{more_shards(rows.size() - count)}});
  return lines;
}

}  // namespace tidegate::launch
