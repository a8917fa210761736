#include "launch/cli/clocks.hpp"

#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include "launch/cli/run_spans.hpp"
#include "launch/text/printable.hpp"
#include "launch/trace/clock_text.hpp"

namespace tidegate::launch {

namespace {

// Without --clocks people see so many of the last of each job.
constexpr std::size_t rows_shown = 20;

exit_code not_shown(const std::string& why) {
  std::cerr << "tidegate clocks: " << why << "\n";
  return exit_code::job_failed;
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

}  // namespace

exit_code show_clocks(const command_line& line) {
  const auto spans = find_spans(line, "clocks");
  if (!spans) return not_shown(spans.error().message());
  std::ifstream from(*spans);
  const auto file = read_spans(from);
  if (!file) return not_shown(*spans + ", " + file.error().message());
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
