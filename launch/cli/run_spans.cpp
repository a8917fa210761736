#include "launch/cli/run_spans.hpp"

#include <chrono>
#include <iostream>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "launch/run/control_socket.hpp"
#include "launch/run/read_status.hpp"
#include "launch/run/run_folders.hpp"
#include "launch/text/json_fields.hpp"
#include "launch/text/printable.hpp"
#include "launch/text/progress_text.hpp"
#include "launch/trace/write_trace.hpp"

namespace tidegate::launch {

namespace {

using json = nlohmann::ordered_json;

// Returns false once the clock can be in a trace: every job has ended it, or has ended, or the
// run has, or says nothing.
bool must_wait(const command_line& line, std::string& where) {
  const auto status = read_status(line.file, [] {});
  if (!status || has_ended(*status)) return false;
  const auto all = json::parse(*status, nullptr, false);
  for (const auto& job : list_in(all, "jobs")) {
    if (!line.job.empty() && text_in(job, "name") != line.job) continue;
    const auto at = count_in(job, "clock_slowest");
    const auto state = text_in(job, "state");
    if (state != "running" && state != "waiting") continue;
    if (at > line.clocks->last) continue;
    where = "job " + printable(text_in(job, "name")) + " is at clock " + std::to_string(at);
    return true;
  }
  return false;
}

void wait_for_clocks(const command_line& line, std::string_view command) {
  constexpr std::chrono::milliseconds pause(100);
  std::string where;
  bool is_told = false;
  while (must_wait(line, where)) {
    if (!std::exchange(is_told, true))
      std::cerr << "tidegate " << command << ": waiting for the end of clock "
                << line.clocks->last << "; " << where
                << " (Ctrl-C ends the waiting, not the run)\n";
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace

runtime::expected<std::string> find_spans(const command_line& line, std::string_view command) {
  const auto fail = [](const std::string& why) {
    return runtime::fail(runtime::errc::not_found, why);
  };
  if (!is_run(line.file)) return fail(line.file + " is no run folder");
  std::string spans;
  if (has_launcher(line.file)) {
    if (line.clocks) wait_for_clocks(line, command);
    const auto answer = ask_launcher(line.file, line.follow ? "trace follow" : "trace", [&] {
      std::cerr << "tidegate " << command << ": waiting for the launcher in " << line.file
                << " to answer (Ctrl-C ends the waiting, not the run)\n";
    });
    // It may have ended meanwhile, and left a file.
    constexpr std::string_view error = "error ";
    if (answer && answer->starts_with(error))
      return fail(printable(answer->substr(error.size())));
    if (answer) spans = line.file + "/" + answer->substr(3);
  }
  if (spans.empty()) spans = newest_spans(line.file);
  if (spans.empty())
    return fail("no launcher lives in " + line.file +
                ", and its run has left no spans: a run leaves them when a job fails or hangs, "
                "and with launch --trace FILE");
  return spans;
}

std::string no_spans_text(const command_line& line) {
  return line.clocks
             ? "nothing of these clocks is there: processes keep their last " +
                   grouped(spans_kept) + " spans; without --clocks all of them are shown"
             : "no process has noted anything: none has begun to train, or the cluster "
               "file has cluster.traces: false";
}

}  // namespace tidegate::launch
