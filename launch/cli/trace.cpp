#include "launch/cli/trace.hpp"

#include <chrono>
#include <filesystem>
#include <iostream>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "launch/run/control_socket.hpp"
#include "launch/run/read_status.hpp"
#include "launch/text/json_fields.hpp"
#include "launch/text/printable.hpp"
#include "launch/trace/write_trace.hpp"

namespace tidegate::launch {

namespace {

using json = nlohmann::ordered_json;

exit_code not_traced(const std::string& why) {
  std::cerr << "tidegate trace: " << why << "\n";
  return exit_code::job_failed;
}

// Returns false once the clock can be in a trace: every job has ended it, or has ended, or the
// run has, or says nothing.
bool must_wait(const std::string& run_dir, std::uint64_t clock, std::string& where) {
  const auto status = read_status(run_dir, [] {});
  if (!status || has_ended(*status)) return false;
  const auto line = json::parse(*status, nullptr, false);
  for (const auto& job : list_in(line, "jobs")) {
    const auto at = count_in(job, "clock_slowest");
    const auto state = text_in(job, "state");
    if (state != "running" && state != "waiting") continue;
    if (at > clock) continue;
    where = "job " + printable(text_in(job, "name")) + " is at clock " + std::to_string(at);
    return true;
  }
  return false;
}

void wait_for(const std::string& run_dir, std::uint64_t clock) {
  constexpr std::chrono::milliseconds pause(100);
  std::string where;
  bool is_told = false;
  while (must_wait(run_dir, clock, where)) {
    if (!std::exchange(is_told, true))
      std::cerr << "tidegate trace: waiting for the end of clock " << clock << "; " << where
                << " (Ctrl-C ends the waiting, not the run)\n";
    std::this_thread::sleep_for(pause);
  }
}

// The newest that the run has left; empty: none.
std::string newest_in(const std::string& run_dir) {
  std::string newest;
  std::filesystem::file_time_type written{};
  for (const auto* name : spans_files) {
    std::error_code error;
    const auto path = run_dir + "/" + name;
    const auto at = std::filesystem::last_write_time(path, error);
    if (error || (!newest.empty() && at < written)) continue;
    newest = path;
    written = at;
  }
  return newest;
}

}  // namespace

exit_code trace_run(const command_line& line) {
  std::string spans;
  if (has_launcher(line.file)) {
    if (line.clocks) wait_for(line.file, line.clocks->last);
    const auto answer = ask_launcher(line.file, "trace", [&] {
      std::cerr << "tidegate trace: waiting for the launcher in " << line.file
                << " to answer (Ctrl-C ends the waiting, not the run)\n";
    });
    // It may have ended meanwhile, and left a file.
    if (answer && !answer->starts_with("ok ")) return not_traced(printable(*answer));
    if (answer) spans = line.file + "/" + answer->substr(3);
  }
  if (spans.empty()) spans = newest_in(line.file);
  if (spans.empty())
    return not_traced("no launcher lives in " + line.file +
                      ", and its run has left no spans: a run leaves them when a job fails or "
                      "hangs, and with launch --trace FILE");
  const auto to = line.output.empty() ? line.file + "/trace.json" : line.output;
  const auto written = write_trace(spans, to, line.clocks);
  if (!written) return not_traced(written.error().message());
  if (written->summary.spans == 0)
    return not_traced("nothing of these clocks is there: processes keep their last " +
                      std::to_string(spans_kept) +
                      " spans; without --clocks all of them are shown");
  if (!written->cause.empty()) std::cout << printable(written->cause) << "\n";
  std::cout << to << ": " << to_text(written->summary)
            << "\nopen it at https://ui.perfetto.dev or chrome://tracing\n";
  return exit_code::done;
}

}  // namespace tidegate::launch
