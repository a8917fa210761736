#include "launch/top/top.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <sstream>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "launch/run/attribution.hpp"
#include "launch/run/read_status.hpp"
#include "launch/run/run_folder.hpp"
#include "launch/run/run_screen.hpp"
#include "launch/run/run_status.hpp"
#include "launch/run/status_feed.hpp"
#include "launch/screen/ansi_text.hpp"
#include "launch/screen/run_lines.hpp"
#include "launch/top/terminal.hpp"

namespace tidegate::launch {

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto pause_between_questions = 1s;
constexpr int key_wait_ms = 200;
constexpr std::int64_t metrics_bytes = 4 * 1024 * 1024;  // of the end of the file
constexpr std::size_t seconds_looked_at = 30;            // of each job

void read_reasons(const std::string& run_dir, std::size_t jobs, run_content& to) {
  to.reasons.clear();
  to.late_shards.clear();
  std::istringstream lines(
      last_lines(run_dir + "/metrics.jsonl", seconds_looked_at * jobs, metrics_bytes));
  metrics_record record;
  if (!record.read(lines).ok()) return;
  for (const auto& job : record.jobs()) {
    if (const auto of = record.attribute(job, {})) add_reasons(*of, to);
  }
}

std::vector<std::string> events(const std::string& run_dir, std::size_t most) {
  std::istringstream lines(last_lines(run_dir + "/events.jsonl", most));
  std::vector<std::string> found;
  for (std::string line; std::getline(lines, line);)
    if (auto text = event_text(line); !text.empty()) found.push_back(std::move(text));
  return found;
}

exit_code tell(const runtime::status& why) {
  std::cerr << "tidegate top: " << why.message() << "\n";
  return exit_code::job_failed;
}

exit_code tell_end(const std::string& status) {
  const auto text = status_text(status);
  if (!text) return tell(text.error());
  std::cout << *text;
  return exit_code::done;
}

// Where nobody can draw.
exit_code show_lines(const std::string& run_dir) {
  for (;;) {
    const auto begun = clock::now();
    const auto status = read_status(run_dir, [&] {
      std::cerr << "tidegate top: waiting for the launcher in " << run_dir << " to answer\n";
    });
    if (!status) return tell(status.error());
    if (has_ended(*status)) return tell_end(*status);
    const auto text = status_text(*status);
    if (!text) return tell(text.error());
    std::cout << *text << "\n" << std::flush;
    if (!std::cout) return exit_code::done;  // the reader has left
    std::this_thread::sleep_until(begun + pause_between_questions);
  }
}

void move(screen_size& screen, terminal::key pressed) {
  using key = terminal::key;
  const auto page = screen.rows / 2;
  auto& first = screen.first_worker;
  if (pressed == key::up) first -= std::min<std::size_t>(first, 1);
  if (pressed == key::down) ++first;
  if (pressed == key::page_up) first -= std::min(first, page);
  if (pressed == key::page_down) first += page;
  if (pressed == key::sort) screen.by_lateness = !screen.by_lateness;
}

// Returns the last status, of a run that has ended; nothing if the user has left.
runtime::expected<std::optional<std::string>> draw_until_end(const std::string& run_dir,
                                                             terminal& on) {
  const status_feed feed(run_dir);
  screen_size screen;
  run_content content;
  auto look_again_at = clock::now();
  for (;;) {
    const auto [status, is_over, age] = feed.newest();
    screen.columns = on.columns();
    screen.rows = on.rows();
    if (status && !*status) return runtime::fail(status->error());
    if (is_over) return std::optional(**status);
    if (status) {
      if (clock::now() >= look_again_at) {
        look_again_at = clock::now() + pause_between_questions;
        read_reasons(run_dir, jobs_of(**status), content);
        content.events = events(run_dir, screen.rows);
      }
      content.status = **status;
      content.age_seconds = age;
      const auto lines = run_lines(content, screen);
      if (!lines) return runtime::fail(lines.error());
      on.draw(*lines);
    } else {
      on.draw({{{"waiting for the launcher in " + run_dir + " to answer", text_style::plain}}});
    }
    const auto pressed = on.wait_for_key(key_wait_ms);
    if (pressed == terminal::key::quit) return std::optional<std::string>();
    move(screen, pressed);
  }
}

}  // namespace

exit_code show_top(const std::string& run_dir) {
  if (::isatty(STDOUT_FILENO) == 0 || ::isatty(STDIN_FILENO) == 0) return show_lines(run_dir);
  auto last = [&]() -> runtime::expected<std::optional<std::string>> {
    auto screen = terminal::open(wants_color());
    if (!screen) return runtime::fail(screen.error());
    return draw_until_end(run_dir, *screen);
  }();
  if (!last) return tell(last.error());
  return *last ? tell_end(**last) : exit_code::done;
}

}  // namespace tidegate::launch
