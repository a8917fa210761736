// What may follow on a command line of `tidegate`: commands, their options, and words that are
// of the kind that the text of --help names: RUN_DIR, PROCESS, FILE. Pure but for the lookups;
// any thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "launch/manual/suggestion.hpp"
#include "launch/text/command_page.hpp"

namespace tidegate::launch {

// What is there now. Each is quick, and returns nothing where there is nothing.
struct lookups {
  // Run folders whose paths begin so.
  std::function<std::vector<std::string>(const std::string& begun)> runs;
  // Processes of this run that have logs, and its jobs.
  std::function<std::vector<std::string>(const std::string& run_dir)> processes;
  std::function<std::vector<std::string>(const std::string& run_dir)> jobs;
  // The text of a cluster file.
  std::function<std::string(const std::string& path)> file;
};

struct completion {
  enum class names { none, files, folders };

  std::vector<suggestion> words;
  names also = names::none;  // names of files that the shell knows fit, too
};

// `words` follow "tidegate"; the last is the one that is typed, and may be empty. The first
// page is that of `tidegate` itself, and its name is empty.
completion complete(const std::vector<command_page>& pages,
                    const std::vector<std::string>& words, const lookups& there);

// For a shell: a line for each word, with a tab before what it is about. The line ":files" or
// ":folders" stands for names of files.
std::string completion_lines(const completion& all);

// What is said of a command in the list of the page above it; empty: nothing is.
std::string about_command(const std::vector<command_page>& pages, const std::string& name);

}  // namespace tidegate::launch
