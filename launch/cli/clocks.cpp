#include "launch/cli/clocks.hpp"

#include <chrono>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <thread>

#include "launch/cli/run_spans.hpp"
#include "launch/run/control_socket.hpp"
#include "launch/text/printable.hpp"
#include "launch/text/progress_text.hpp"
#include "launch/trace/clock_follower.hpp"
#include "launch/trace/clock_text.hpp"

namespace tidegate::launch {

namespace {

// Without --clocks people see so many of the last of each job.
constexpr std::size_t rows_shown = 20;

exit_code not_shown(const std::string& why) {
  std::cerr << "tidegate clocks: " << why << "\n";
  return exit_code::job_failed;
}

// Errors: as find_spans() and read_spans().
runtime::expected<spans_file> load_spans(const command_line& line) {
  const auto spans = find_spans(line, "clocks");
  if (!spans) return runtime::fail(spans.error());
  std::ifstream from(*spans);
  auto file = read_spans(from);
  if (!file) return runtime::fail(file.error().code(), *spans + ", " + file.error().message());
  return file;
}

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + printable(name);
  return text;
}

void keep_last(std::vector<clock_record>& records) {
  std::map<std::string, std::size_t> left;
  for (const auto& record : records) ++left[record.job];
  std::erase_if(records,
                [&](const clock_record& record) { return left[record.job]-- > rows_shown; });
}

void print(const command_line& line, const std::vector<clock_record>& records) {
  if (records.empty()) return;
  std::cout << (line.json ? clocks_json(records) : clocks_table(records)) << std::flush;
}

// Until then, or the end of the launcher.
void rest(const std::string& run_dir, std::int64_t rest_ns) {
  constexpr std::chrono::milliseconds look_again(100);
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(rest_ns);
  while (std::chrono::steady_clock::now() < until && has_launcher(run_dir))
    std::this_thread::sleep_for(look_again);
}

void say_lost(const clock_follower& clocks) {
  if (clocks.lost() > 0)
    std::cerr
        << "tidegate clocks: " << grouped(clocks.lost())
        << " clocks are lost: processes do more than they keep, or than was told of them\n";
}

// The last time it reads what the run has left at its end, if it has left anything.
exit_code follow(const command_line& line) {
  clock_follower clocks(line.job);
  bool has_told = false;
  for (bool lives = true; lives && std::cout;) {
    lives = has_launcher(line.file);
    const auto file = load_spans(line);
    const bool is_nothing_left = !file && file.error().code() == runtime::errc::not_found;
    if (is_nothing_left && !lives && has_told) break;
    if (!file) {
      say_lost(clocks);
      return not_shown(file.error().message());
    }
    const auto records = clocks.take(*file, !lives);
    print(line, records);
    has_told = has_told || !records.empty();
    if (lives) rest(line.file, clocks.rest_ns());
  }
  say_lost(clocks);
  return has_told ? exit_code::done : not_shown(no_spans_text(line));
}

}  // namespace

exit_code show_clocks(const command_line& line) {
  if (line.follow) return follow(line);
  const auto file = load_spans(line);
  if (!file) return not_shown(file.error().message());
  auto records = clock_records(file->processes, file->staleness, line.clocks);
  if (!line.job.empty()) {
    std::set<std::string> jobs;
    for (const auto& record : records) jobs.insert(record.job);
    std::erase_if(records, [&](const clock_record& record) { return record.job != line.job; });
    if (records.empty() && !jobs.empty())
      return not_shown("nothing is known of job " + line.job + "; there are: " + joined(jobs));
  }
  if (records.empty()) return not_shown(no_spans_text(line));
  if (line.json) {
    std::cout << clocks_json(records);
    return exit_code::done;
  }
  if (!line.clocks) keep_last(records);
  if (!file->cause.empty()) std::cout << printable(file->cause) << "\n";
  const bool is_single = line.clocks && line.clocks->first == line.clocks->last;
  if (!is_single) std::cout << clocks_table(records);
  for (std::size_t i = 0; i < records.size() && is_single; ++i)
    std::cout << (i == 0 ? "" : "\n") << workers_table(records[i]);
  return exit_code::done;
}

}  // namespace tidegate::launch
