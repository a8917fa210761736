#include "launch/cli/manual_command.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <utility>

#include "launch/cli/completion_scripts.hpp"
#include "launch/manual/complete.hpp"
#include "launch/manual/man_page.hpp"
#include "launch/run/run_folders.hpp"
#include "launch/text/exit_code.hpp"
#include "launch/text/files.hpp"
#include "launch/text/nearest.hpp"

namespace tidegate::launch {

namespace {

namespace fs = std::filesystem;
using words = std::vector<std::string>;

constexpr const char* completion_help = R"text(tidegate completion bash|zsh|fish

Prints what lets a shell complete command lines of tidegate: commands, options, run folders, processes
and keys. An installed tidegate has it where shells of Debian look for it; elsewhere:

  bash    eval "$(tidegate completion bash)" in ~/.bashrc
  zsh     source <(tidegate completion zsh) in ~/.zshrc, after compinit
  fish    tidegate completion fish | source in ~/.config/fish/config.fish

Exit codes: 0 done; 2 bad usage.
)text";

constexpr std::size_t runs_shown_max = 1000;

constexpr int done = static_cast<int>(exit_code::done);

int refuse(const std::string& why) {
  std::cerr << "tidegate " << why << "\n";
  return static_cast<int>(exit_code::bad_usage);
}

void add_runs(const fs::path& folder, const std::string& shown, words& to) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end;
       !error && at != end && to.size() < runs_shown_max; at.increment(error))
    if (is_run(at->path().string())) to.push_back(shown + at->path().filename().string());
}

// In the folder that has been typed, and in `runs`, where launch puts them.
words runs_beginning(const std::string& begun) {
  const auto slash = begun.rfind('/');
  words runs;
  if (slash != std::string::npos) {
    const auto folder = begun.substr(0, slash + 1);
    add_runs(folder, folder, runs);
  } else {
    add_runs(".", "", runs);
    add_runs("runs", "runs/", runs);
  }
  std::sort(runs.begin(), runs.end());
  return runs;
}

// Of processes named worker-JOB-RANK.
words jobs_of(const std::string& run_dir) {
  constexpr std::string_view worker = "worker-";
  words jobs;
  for (const auto& name : log_writers(run_dir)) {
    const auto end = name.rfind('-');
    if (!name.starts_with(worker) || end < worker.size()) continue;
    auto job = name.substr(worker.size(), end - worker.size());
    if (jobs.empty() || jobs.back() != job) jobs.push_back(std::move(job));
  }
  return jobs;
}

// Whoever presses Tab is not to wait for what somebody else writes into a pipe.
std::string text_of_file(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return {};
  return read_file(path).value_or(std::string());
}

int complete_words(const words& args, const std::vector<command_page>& pages) {
  const lookups there{
      .runs = runs_beginning, .processes = log_writers, .jobs = jobs_of, .file = text_of_file};
  const bool has_dashes = args.size() > 1 && args[1] == "--";
  const words typed(args.begin() + (has_dashes ? 2 : 1), args.end());
  std::cout << completion_lines(complete(pages, typed, there));
  return done;
}

int print_script(const words& args) {
  const auto script = args.size() == 2 ? completion_script(args[1]) : std::string_view();
  if (script.empty())
    return refuse("completion" + (args.size() < 2 ? "" : " '" + args[1] + "'") +
                  "; allowed: tidegate completion bash|zsh|fish");
  std::cout << script;
  return done;
}

runtime::status write_below(const fs::path& root, const fs::path& file, std::string_view text) {
  const auto path = root / file;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error)
    return {runtime::errc::io_error, path.parent_path().string() + ": " + error.message()};
  return write_file_atomically(path.string(), text);
}

// FOLDER is the share/ of an installation.
runtime::status write_files(const std::string& folder, const manual_edition& edition,
                            const std::vector<command_page>& pages) {
  const std::pair<const char*, const char*> scripts[] = {
      {"bash", "bash-completion/completions/tidegate"},
      {"zsh", "zsh/vendor-completions/_tidegate"},
      {"fish", "fish/vendor_completions.d/tidegate.fish"}};
  for (const auto& [shell, file] : scripts)
    if (auto written = write_below(folder, file, completion_script(shell)); !written.ok())
      return written;
  for (const auto& page : pages)
    if (auto written = write_below(folder, "man/man1/" + man_name(page) + ".1",
                                   command_manual(pages, page, edition));
        !written.ok())
      return written;
  return write_below(folder, "man/man5/tidegate.yaml.5", keys_manual(edition));
}

int write_manual(const words& args, const std::vector<command_page>& pages) {
  if (args.size() != 3) return refuse("manual; allowed: tidegate manual FOLDER DATE");
  const auto written =
      write_files(args[1], {.date = args[2], .version = TIDEGATE_VERSION}, pages);
  if (written.ok()) return done;
  std::cerr << "tidegate manual: " << written.message() << "\n";
  return static_cast<int>(exit_code::job_failed);
}

bool asks_for_help(const words& args) {
  return args.front() == "help" ||
         (args.size() > 1 && (args[1] == "--help" || args[1] == "-h"));
}

}  // namespace

bool is_manual_command(const words& args) {
  if (args.empty()) return false;
  if (args.front() == "help") return args.size() > 1 && args[1] == "completion";
  return args.front() == "completion" || args.front() == "complete" || args.front() == "manual";
}

int run_manual_command(const words& args, const std::vector<command_page>& pages) {
  if (args.front() == "complete") return complete_words(args, pages);
  if (args.front() == "manual") return write_manual(args, pages);
  if (!asks_for_help(args)) return print_script(args);
  std::cout << completion_help;
  return done;
}

command_page completion_page() {
  return {.name = "completion",
          .help = completion_help,
          .options = {{.name = "help", .letter = 'h', .has_value = false}}};
}

}  // namespace tidegate::launch
