#include "launch/screen/run_lines.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "launch/screen/shard_rows.hpp"
#include "launch/screen/table_cells.hpp"
#include "launch/screen/worker_rows.hpp"
#include "launch/text/json_fields.hpp"
#include "launch/text/printable.hpp"
#include "launch/text/progress_text.hpp"
#include "launch/text/text_table.hpp"

namespace tidegate::launch {

namespace {

using json = nlohmann::json;

constexpr std::size_t bar_columns_least = 8;
constexpr std::size_t bar_columns_wanted = 26;  // the length of its legend
constexpr double stale_seconds = 3;
// Which are shown, in a third of the rows at most that jobs leave.
constexpr std::size_t events_most = 5;

// A column of the table of workers, beside the bar.
struct column {
  const char* heading;
  std::size_t width;
  bool to_the_right;
  std::string (*cell)(const worker_row&);
};

// Where there is less room the last go first.
const std::vector<column>& columns() {
  static const std::vector<column> all{
      {"rank", 5, true,
       [](const worker_row& row) {
         return (row.holds_up() ? "*" : "") + std::to_string(row.rank);
       }},
      {"last", 5, true, [](const worker_row& row) { return percent(row.last); }},
      {"clock", 8, true, [](const worker_row& row) { return std::to_string(row.clock); }},
      {"late", 9, true, [](const worker_row& row) { return milliseconds(row.late); }},
      {"samples/s", 10, true,
       [](const worker_row& row) {
         return grouped(static_cast<std::uint64_t>(std::max(0.0, row.samples)));
       }},
      {"job", 10, false, [](const worker_row& row) { return row.job; }},
      {"host", 12, false,
       [](const worker_row& row) { return row.host.empty() ? std::string("-") : row.host; }},
      {"process", 7, true,
       [](const worker_row& row) { return std::to_string(row.incarnation); }},
  };
  return all;
}

void add(styled_line& to, std::string text, text_style style = text_style::plain) {
  to.push_back({std::move(text), style});
}

// A terminal would obey control characters, which failures and logs may quote. Bytes count as
// columns, which leaves room where characters have several; none is cut in its middle.
void cut_to(styled_line& line, std::size_t width) {
  constexpr unsigned continued_mask = 0xC0U, continued = 0x80U;
  for (auto& piece : line) {
    piece.text = printable(piece.text);
    auto end = std::min(piece.text.size(), width);
    while (end > 0 && end < piece.text.size() &&
           (static_cast<unsigned char>(piece.text[end]) & continued_mask) == continued)
      --end;
    piece.text.resize(end);
    width -= end;
  }
  std::erase_if(line, [](const styled_text& piece) { return piece.text.empty(); });
}

class screen_text {
 public:
  explicit screen_text(const screen_size& screen) : screen_(screen) {}

  std::size_t left() const { return screen_.rows - std::min(screen_.rows, lines_.size()); }
  void put(styled_line line) {
    if (left() == 0) return;
    cut_to(line, screen_.columns);
    lines_.push_back(std::move(line));
  }
  void put(std::string text, text_style style = text_style::plain) {
    put(styled_line{{std::move(text), style}});
  }
  // Broken between words, in a few lines: workers are to have room below.
  void put_wrapped(const std::string& text, text_style style) {
    constexpr std::size_t share_of_rows = 6;
    const auto end_at = lines_.size() + std::max<std::size_t>(2, screen_.rows / share_of_rows);
    std::string line;
    std::size_t at = 0;
    while (at < text.size() && lines_.size() < end_at) {
      const auto end = std::min(text.find(' ', at), text.size());
      const auto word = text.substr(at, end - at);
      if (!line.empty() && line.size() + 1 + word.size() > screen_.columns) {
        put(std::exchange(line, ""), style);
      }
      line += (line.empty() ? "" : " ") + word;
      at = end + 1;
    }
    if (!line.empty() && lines_.size() < end_at) put(line, style);
  }
  std::vector<styled_line> take() { return std::move(lines_); }

 private:
  const screen_size& screen_;
  std::vector<styled_line> lines_;
};

void put_heading(const json& status, const run_content& content, screen_text& to) {
  styled_line line;
  add(line, "cluster " + text_in(status, "cluster", ""), text_style::heading);
  add(line, "  " + text_in(status, "state", ""));
  std::map<std::string, std::size_t> roles;
  for (const auto& process : list_in(status, "processes")) {
    const auto name = text_in(process, "name", "");
    ++roles[name.substr(0, name.find('-'))];
  }
  std::string counts;
  for (const auto* role : {"shard", "replica", "aggregator", "worker"})
    if (const auto at = roles.find(role); at != roles.end())
      counts += (counts.empty() ? "" : ", ") + std::to_string(at->second) + " " + role +
                (at->second == 1 ? "" : "s");
  if (!counts.empty()) add(line, "  " + counts);
  to.put(std::move(line));
  if (content.age_seconds >= stale_seconds)
    to.put("the launcher has not answered for " + duration_text(content.age_seconds),
           text_style::bad);
  for (const auto& host : list_in(status, "hosts"))
    if (const auto state = text_in(host, "state", ""); state != "up")
      to.put("host " + text_in(host, "name", "") + " is " + state, text_style::bad);
}

std::string clock_text(const json& job) {
  const auto slowest = count_in(job, "clock_slowest");
  const auto total = count_in(job, "clocks_total");
  return "clock " + std::to_string(slowest) +
         (total == 0 ? "" : " of " + std::to_string(total));
}

// How far the slowest worker is; nothing where nobody has said how far it goes.
std::string progress_bar(const json& job, std::size_t width) {
  const auto total = count_in(job, "clocks_total");
  if (total == 0 || width < bar_columns_least) return "";
  const auto done = std::min(count_in(job, "clock_slowest"), total);
  const auto inner = width - 2;
  const auto full = static_cast<std::size_t>(
      static_cast<double>(done) / static_cast<double>(total) * static_cast<double>(inner));
  return "[" + std::string(full, '=') + std::string(inner - full, ' ') + "]";
}

std::string time_left(const json& job) {
  const auto total = count_in(job, "clocks_total");
  const auto slowest = count_in(job, "clock_slowest");
  const auto rates = job.find("last_seconds");
  const auto rate = rates == job.end() ? 0 : number_in(*rates, "clocks_per_second");
  if (total <= slowest || rate <= 0) return "";
  return "  " + duration_text(static_cast<double>(total - slowest) / rate) + " left";
}

void put_jobs(const json& status, std::size_t width, screen_text& to) {
  for (const auto& job : list_in(status, "jobs")) {
    const auto state = text_in(job, "state", "");
    styled_line line;
    add(line, text_in(job, "name", ""), text_style::heading);
    add(line, "  " + text_in(job, "policy", "") + "  ");
    add(line, state,
        state == "failed" ? text_style::bad
        : state == "done" ? text_style::good
                          : text_style::plain);
    add(line, "  " + clock_text(job));
    const auto rates = job.find("last_seconds");
    const auto samples = rates == job.end() ? 0 : number_in(*rates, "samples_per_second");
    if (state == "running" && samples >= 1)
      add(line, "  " + grouped(static_cast<std::uint64_t>(samples)) + " samples/s");
    if (const auto loss = job.find("loss"); loss != job.end() && loss->is_number())
      add(line, "  loss " + number_text("%.4f", loss->get<double>()));
    if (const auto restarts = count_in(job, "restarts"); restarts > 0)
      add(line, "  " + std::to_string(restarts) + (restarts == 1 ? " restart" : " restarts"));
    add(line, time_left(job));
    to.put(std::move(line));
    if (state == "running")
      if (auto bar = progress_bar(job, std::min<std::size_t>(width, bar_columns_most));
          !bar.empty())
        to.put(std::move(bar));
    if (const auto why = text_in(job, "failure", ""); !why.empty())
      to.put_wrapped(why, text_style::bad);
  }
}

void put_reasons(const std::vector<std::string>& reasons, screen_text& to) {
  constexpr std::size_t reasons_most = 2;  // the worst come first
  for (std::size_t i = 0; i < std::min(reasons.size(), reasons_most); ++i)
    to.put_wrapped(reasons[i], text_style::bad);
  if (reasons.size() > reasons_most)
    to.put("and " + std::to_string(reasons.size() - reasons_most) + " more: tidegate why",
           text_style::bad);
}

void put_waits(const json& status, screen_text& to) {
  constexpr std::size_t waits_most = 3;
  const auto& waits = list_in(status, "waits");
  for (std::size_t i = 0; i < std::min(waits.size(), waits_most); ++i)
    to.put_wrapped(text_in(waits[i], "waiter", "") + " has waited " +
                       duration_text(number_in(waits[i], "seconds")) + " for " +
                       text_in(waits[i], "awaited", ""),
                   text_style::bad);
  if (waits.size() > waits_most)
    to.put("and " + std::to_string(waits.size() - waits_most) + " more wait");
}

// Cells of whole columns: rounding takes and gives to waits.
void add_bar(const worker_row& row, std::size_t width, styled_line& to) {
  if (row.computes + row.calls + row.waits <= 0) return add(to, std::string(width, ' '));
  const auto cells = [&](double share) {
    return static_cast<std::size_t>(
        std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(width)));
  };
  const auto computes = std::min(cells(row.computes), width);
  const auto calls = std::min(cells(row.calls), width - computes);
  add(to, std::string(computes, '#'), text_style::computes);
  add(to, std::string(calls, '+'), text_style::calls);
  add(to, std::string(width - computes - calls, '.'), text_style::waits);
}

struct table_layout {
  std::vector<const column*> shown;
  std::size_t bar = 0;
};

table_layout layout_for(std::size_t width, bool several_jobs, bool has_hosts) {
  table_layout layout;
  std::size_t used = 0;
  for (const auto& candidate : columns()) {
    const std::string heading = candidate.heading;
    if ((heading == "job" && !several_jobs) || (heading == "host" && !has_hosts)) continue;
    const auto more = candidate.width + column_gap;
    const auto bar = layout.shown.size() < 2 ? bar_columns_least : bar_columns_wanted;
    if (used + more + bar > width && !layout.shown.empty()) break;
    layout.shown.push_back(&candidate);
    used += more;
  }
  layout.bar = used < width ? std::min(width - used, bar_columns_most) : 0;
  return layout;
}

void put_workers(const json& status, screen_size& screen, std::size_t rows_most,
                 screen_text& to) {
  auto rows = workers_of(status);
  if (rows.empty() || rows_most < 2) return;
  if (screen.by_lateness)
    std::stable_sort(rows.begin(), rows.end(),
                     [](const worker_row& a, const worker_row& b) { return a.late > b.late; });
  const bool several_jobs = std::any_of(rows.begin(), rows.end(), [&](const worker_row& row) {
    return row.job != rows.front().job;
  });
  const bool has_hosts = std::any_of(rows.begin(), rows.end(),
                                     [](const worker_row& row) { return !row.host.empty(); });
  const auto layout = layout_for(screen.columns, several_jobs, has_hosts);
  std::string heading;
  for (const auto* shown : layout.shown)
    heading += fitted(shown->heading, shown->width, shown->to_the_right) +
               std::string(column_gap, ' ');
  constexpr const char* legend = "# computes + calls . waits";
  to.put(heading + std::string(legend).substr(0, layout.bar), text_style::heading);
  const auto room = rows_most - 1;
  screen.first_worker =
      std::min(screen.first_worker, rows.size() - std::min(room, rows.size()));
  const auto first = screen.first_worker;
  for (std::size_t i = first; i < std::min(rows.size(), first + room); ++i) {
    const auto& row = rows[i];
    const auto style = row.holds_up() ? text_style::bad : text_style::plain;
    styled_line line;
    for (const auto* shown : layout.shown) {
      add(line, fitted(shown->cell(row), shown->width, shown->to_the_right), style);
      add(line, std::string(column_gap, ' '));
    }
    if (row.finished)
      add(line, "has finished");
    else if (!row.joined)
      add(line, "is not there", text_style::bad);
    else
      add_bar(row, layout.bar, line);
    to.put(std::move(line));
  }
}

// Shards have what workers leave. Those that a job waits for have a part of it for certain.
std::size_t kept_for_shards(const std::vector<shard_row>& rows, std::size_t room) {
  constexpr std::size_t share_of_rows = 3, rows_most = 3;  // the heading among them
  const auto named = static_cast<std::size_t>(std::count_if(
      rows.begin(), rows.end(), [](const shard_row& row) { return row.is_named; }));
  const auto kept = std::min({named + 1, room / share_of_rows, rows_most});
  return named == 0 || kept < 2 ? 0 : kept;
}

}  // namespace

std::string plain_text(const styled_line& line) {
  std::string text;
  for (const auto& piece : line) text += piece.text;
  return text;
}

runtime::expected<std::vector<styled_line>> run_lines(const run_content& content,
                                                      screen_size& screen) {
  const auto status = json::parse(content.status, nullptr, false);
  if (!status.is_object() || !status.contains("jobs"))
    return runtime::fail(runtime::errc::corrupt, "no status of a run");
  screen_text text(screen);
  put_heading(status, content, text);
  put_jobs(status, screen.columns, text);
  put_reasons(content.reasons, text);
  put_waits(status, text);
  const auto events = std::min({content.events.size(), events_most, text.left() / 3});
  const auto tail = events == 0 ? 0 : events + 1;
  const auto shards = shards_of(status, content.late_shards);
  const auto room = text.left() - tail;
  put_workers(status, screen, room - kept_for_shards(shards, room), text);
  if (const auto left = text.left() - tail; left > 0)
    for (auto& line : shard_lines(shards, screen.columns, left)) text.put(std::move(line));
  if (tail > 0) {
    text.put("");
    for (std::size_t i = content.events.size() - events; i < content.events.size(); ++i)
      text.put(content.events[i]);
  }
  return text.take();
}

std::size_t jobs_of(const std::string& status_line) {
  return list_in(json::parse(status_line, nullptr, false), "jobs").size();
}

std::string event_text(const std::string& line) {
  const auto event = json::parse(line, nullptr, false);
  if (!event.is_object()) return "";
  const auto time = text_in(event, "time", "");  // "2026-11-29T08:27:17.617Z"
  constexpr std::size_t time_at = 11, time_size = 8;
  if (time.size() < time_at + time_size) return "";
  return time.substr(time_at, time_size) + " " + event_kind_in(event) + "  " +
         text_in(event, "detail", "");
}

}  // namespace tidegate::launch
