#include "launch/cli/logs.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <optional>
#include <poll.h>
#include <string>
#include <vector>

#include "launch/plan/run_paths.hpp"
#include "launch/run/control_socket.hpp"
#include "launch/run/log_follower.hpp"
#include "launch/run/run_folders.hpp"
#include "launch/text/nearest.hpp"

namespace tidegate::launch {

namespace {

constexpr std::uint64_t lines_of_each = 10;
// For new logs, and whether the run has ended.
constexpr std::chrono::milliseconds look_again{500};

exit_code no_logs(const std::string& why) {
  std::cerr << "tidegate logs: " << why << "\n";
  return exit_code::job_failed;
}

// Returns the byte after that newline before `end`, counted backwards from 1; 0: there are not
// so many.
std::uint64_t after_newline(std::ifstream& file, std::uint64_t end, std::uint64_t number) {
  std::vector<char> bytes(64 * 1024);
  while (end > 0) {
    const auto piece = std::min<std::uint64_t>(end, bytes.size());
    end -= piece;
    file.seekg(static_cast<std::streamoff>(end));
    if (!file.read(bytes.data(), static_cast<std::streamsize>(piece))) return 0;
    for (auto i = piece; i > 0; --i)
      if (bytes[i - 1] == '\n' && --number == 0) return end + i;
  }
  return 0;
}

void print(std::ifstream& file, std::uint64_t begin, std::uint64_t end) {
  std::vector<char> bytes(64 * 1024);
  file.seekg(static_cast<std::streamoff>(begin));
  while (begin < end) {
    const auto piece = std::min<std::uint64_t>(end - begin, bytes.size());
    if (!file.read(bytes.data(), static_cast<std::streamsize>(piece))) return;
    std::cout.write(bytes.data(), static_cast<std::streamsize>(piece));
    begin += piece;
  }
}

// Prints the last lines, all without a number, and returns the byte after them. A line without
// an end is whole when nobody follows.
std::uint64_t print_last(const std::string& path, std::optional<std::uint64_t> lines,
                         bool follows) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto size = file ? static_cast<std::uint64_t>(file.tellg()) : 0;
  const auto end = follows ? after_newline(file, size, 1) : size;
  if (lines == 0) return end;
  const bool ends_line = end > 0 && after_newline(file, end, 1) == end;
  print(file, lines ? after_newline(file, ends_line ? end - 1 : end, *lines) : 0, end);
  return end;
}

exit_code follow(const command_line& line, log_follower& follower) {
  using clock = std::chrono::steady_clock;
  auto look_at = clock::now();
  for (bool lives = true;;) {
    // Looked at before the lines are read, so that none is missed at the end.
    if (clock::now() >= look_at) {
      look_at = clock::now() + look_again;
      lives = has_launcher(line.file);
      if (line.process.empty())
        for (const auto& name : log_writers(line.file))
          follower.follow(log_path(line.file, name), name, 0);
    }
    for (const auto& text : lives ? follower.take_lines() : follower.take_rest())
      std::cout << text << "\n";
    std::cout << std::flush;
    if (!lives || !std::cout) return exit_code::done;
    pollfd grown{.fd = follower.fd(), .events = POLLIN, .revents = 0};
    (void)::poll(&grown, 1, static_cast<int>(look_again.count()));
  }
}

}  // namespace

exit_code show_logs(const command_line& line) {
  auto names = log_writers(line.file);
  if (names.empty()) return no_logs("no logs are in " + line.file);
  if (!line.process.empty()) {
    if (std::find(names.begin(), names.end(), line.process) == names.end()) {
      const auto near = nearest(line.process, names);
      return no_logs("no process '" + line.process + "' has written in " + line.file +
                     (near.empty() ? "" : "; did you mean " + near + "?"));
    }
    names = {line.process};
  }
  auto follower = log_follower::in(line.file + "/logs");
  if (line.follow && !follower) return no_logs(follower.error().message());
  const bool wants_all = line.all_lines || (!line.process.empty() && !line.lines);
  const auto most =
      wants_all ? std::nullopt : std::optional(line.lines.value_or(lines_of_each));
  for (const auto& name : names) {
    if (names.size() > 1) std::cout << "==> " << name << " <==\n";
    const auto path = log_path(line.file, name);
    const auto end = print_last(path, most, line.follow);
    if (line.follow) follower->follow(path, name, end);
    if (names.size() > 1) std::cout << "\n";
  }
  std::cout << std::flush;
  return line.follow ? follow(line, *follower) : exit_code::done;
}

}  // namespace tidegate::launch
