#include "launch/cli/list_runs.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "launch/run/control_socket.hpp"
#include "launch/run/run_folders.hpp"
#include "launch/text/files.hpp"
#include "launch/text/json_fields.hpp"
#include "launch/text/printable.hpp"
#include "launch/text/progress_text.hpp"
#include "launch/text/text_table.hpp"

namespace tidegate::launch {

namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

struct known_run {
  std::string path;
  fs::file_time_type begun;
  std::string state;  // "running", "ended", "lost"
  json result;        // null: it has left none
};

known_run look_at(const fs::path& folder) {
  known_run found{.path = folder.string(), .begun = {}, .state = {}, .result = nullptr};
  std::error_code error;
  found.begun = fs::last_write_time(folder / "cluster.yaml", error);
  const bool lives = has_launcher(found.path);
  if (!lives)
    if (const auto text = read_file(found.path + "/result.json"))
      found.result = json::parse(*text, nullptr, false);
  if (!found.result.is_object()) found.result = nullptr;
  found.state = lives ? "running" : found.result.is_null() ? "lost" : "ended";
  return found;
}

using row = std::vector<std::string>;

void add_rows(const known_run& run, std::vector<row>& to) {
  const auto& jobs = list_in(run.result, "jobs");
  if (jobs.empty()) to.push_back({printable(run.path), run.state, "-", "-", "-", "-", "-"});
  for (const auto& job : jobs)
    to.push_back({printable(run.path), printable(text_in(job, "state")),
                  printable(text_in(job, "name")), printable(text_in(job, "policy")),
                  std::to_string(count_in(job, "clocks")),
                  duration_text(number_in(job, "wall_seconds")),
                  short_hash(text_in(job, "parameters_sha256"))});
}

std::string line_of(const known_run& run) {
  json line{{"run", run.path}, {"state", run.state}};
  line["exit_code"] =
      run.result.is_null() ? json(nullptr) : run.result.value("exit_code", json(nullptr));
  line["jobs"] = list_in(run.result, "jobs");
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

exit_code list_runs(const command_line& line) {
  std::error_code error;
  std::vector<known_run> runs;
  if (is_run(line.file)) runs.push_back(look_at(line.file));
  for (fs::directory_iterator at(line.file, error), end; !error && at != end;
       at.increment(error))
    if (is_run(at->path().string())) runs.push_back(look_at(at->path()));
  if (error) {
    std::cerr << "tidegate ls: " << line.file << ": " << error.message() << "\n";
    return exit_code::job_failed;
  }
  std::sort(runs.begin(), runs.end(), [](const known_run& a, const known_run& b) {
    return std::pair(a.begun, a.path) < std::pair(b.begun, b.path);
  });
  if (line.json) {
    for (const auto& run : runs) std::cout << line_of(run) << "\n";
    return exit_code::done;
  }
  std::vector<row> rows{{"run", "state", "job", "policy", "clocks", "time", "parameters"}};
  for (const auto& run : runs) add_rows(run, rows);
  if (runs.empty())
    std::cout << "no runs are in " << line.file << "\n";
  else
    std::cout << format_table(rows, {4, 5});
  return exit_code::done;
}

}  // namespace tidegate::launch
