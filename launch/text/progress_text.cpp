#include "launch/text/progress_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "launch/text/printable.hpp"
#include "launch/text/text_table.hpp"
#include "launch/text/wrapped.hpp"

namespace tidegate::launch {

using policies::job_state;
using policies::job_status;

namespace {

std::string clock_text(const job_status& job) {
  auto text = "clock " + std::to_string(job.clock_slowest);
  if (job.clock_fastest != job.clock_slowest) text += ".." + std::to_string(job.clock_fastest);
  if (job.clocks_total != 0) text += " of " + std::to_string(job.clocks_total);
  return text;
}

// As fast as in the last seconds: what a run did before it was resumed, or with other workers,
// says nothing of what is to come.
std::string time_left(const job_status& job, const policies::job_rates& rates) {
  if (job.clocks_total <= job.clock_slowest || rates.clocks_per_second <= 0) return {};
  const auto left = static_cast<double>(job.clocks_total - job.clock_slowest);
  return "  " + duration_text(left / rates.clocks_per_second) + " left";
}

std::string running_text(const job_status& job, const policies::job_rates& rates) {
  std::string text;
  if (job.epoch > 0) text += "epoch " + number_text("%.1f", job.epoch) + "  ";
  text += clock_text(job);
  if (job.samples == 0) return text + time_left(job, rates);
  text += "  loss " + number_text("%.4f", job.loss);
  if (rates.seconds > 0)
    text += "  " + grouped(static_cast<std::uint64_t>(rates.samples_per_second)) + " samples/s";
  return text + time_left(job, rates);
}

// The numbers that a job's workers have reported, and how stale its parameters were at most.
std::string reported_text(const job_status& job) {
  std::vector<std::string> words;
  const auto add = [&](const std::string& name, const std::string& value) {
    words.push_back(printable(name) + " " + value);
  };
  constexpr const char* format = "%.5g";
  if (job.samples != 0 && job.metrics.count("loss") == 0)
    add("loss", number_text(format, job.loss));
  for (const auto& [name, value] : job.metrics) add(name, number_text(format, value));
  if (job.staleness_max != 0) add("staleness", std::to_string(job.staleness_max));
  for (std::size_t i = 0; i + 1 < words.size(); ++i) words[i] += ',';
  return words.empty() ? "" : wrapped(words, printable(job.name) + ": ");
}

}  // namespace

std::string_view to_string(job_state state) noexcept {
  switch (state) {
    case job_state::waiting:
      return "waiting";
    case job_state::running:
      return "running";
    case job_state::done:
      return "done";
    case job_state::failed:
      return "failed";
    case job_state::interrupted:
      return "interrupted";
    case job_state::cancelled:
      return "cancelled";
  }
  return "?";
}

double samples_per_second(const job_status& job) noexcept {
  return job.seconds > 0 ? static_cast<double>(job.samples) / job.seconds : 0;
}

std::string wait_text(const std::vector<policies::wait_status>& waits) {
  const auto& longest = waits.front();
  auto text = longest.waiter + " has waited " + duration_text(longest.seconds) + " for " +
              longest.awaited;
  if (waits.size() > 1) text += " (and " + std::to_string(waits.size() - 1) + " more)";
  return text;
}

std::string progress_line(const job_status& job, std::uint32_t workers,
                          const policies::job_rates& rates, std::size_t width) {
  auto text = job.name + "  " + job.policy + "  ";
  switch (job.state) {
    case job_state::waiting:
      text += "waiting: " + std::to_string(job.workers_joined) + " of " +
              std::to_string(workers) + " workers joined";
      break;
    case job_state::running:
      text += running_text(job, rates);
      break;
    case job_state::done:
      text += "done in " + duration_text(job.seconds) + "  " + clock_text(job);
      break;
    case job_state::failed:
      text += "failed: " + job.failure;
      break;
    case job_state::interrupted:
      text += "interrupted: " + job.failure;
      break;
    case job_state::cancelled:
      text += "cancelled: " + job.failure;
      break;
  }
  // One line, whatever a worker's message holds: it is redrawn by counting lines.
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  if (width != 0 && text.size() > width) text.resize(width);
  return text;
}

std::string result_table(const std::vector<job_status>& jobs) {
  std::vector<std::vector<std::string>> rows{
      {"job", "policy", "state", "time", "samples/s", "clocks", "restarts", "parameters"}};
  std::string reported;
  for (const auto& j : jobs) {
    rows.push_back(
        {printable(j.name), j.policy, std::string(to_string(j.state)),
         j.seconds < 60 ? number_text("%.2f s", j.seconds) : duration_text(j.seconds),
         j.samples == 0 ? "-" : grouped(static_cast<std::uint64_t>(samples_per_second(j))),
         std::to_string(j.clock_slowest), std::to_string(j.restarts),
         j.parameters_sha256.empty() ? "-" : short_hash(j.parameters_sha256)});
    reported += reported_text(j);
  }
  return format_table(rows, {3, 4, 5, 6}) + (reported.empty() ? "" : "\n" + reported);
}

std::string short_hash(std::string_view sha256) {
  constexpr std::size_t digits_shown = 12;
  return printable(sha256.substr(0, digits_shown));
}

std::string duration_text(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "?";
  const auto s = static_cast<unsigned long long>(std::llround(seconds));
  char text[48];
  if (s < 60) {
    std::snprintf(text, sizeof text, "%llus", s);
  } else if (s < 3600) {
    std::snprintf(text, sizeof text, "%llum%02llus", s / 60, s % 60);
  } else {
    std::snprintf(text, sizeof text, "%lluh%02llum", s / 3600, s / 60 % 60);
  }
  return text;
}

std::string grouped(std::uint64_t n) {
  auto text = std::to_string(n);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return text;
}

}  // namespace tidegate::launch
