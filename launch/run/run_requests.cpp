#include "launch/run/run_requests.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "launch/text/scalars.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::launch {

namespace {

constexpr std::string_view scale_word = "scale ";
constexpr std::string_view shards_word = "shards ";
constexpr std::string_view cancel_word = "cancel ";
constexpr std::string_view trace_word = "trace";
constexpr std::string_view follow_word = "trace follow";
constexpr std::string_view status_word = "status";
constexpr std::string_view stop_word = "stop";
constexpr std::string_view stop_now_word = "stop now";

}  // namespace

void run_requests::listen(run_journal& journal) {
  if (auto control = control_socket::listen(journal.folder().path()))
    control_.emplace(std::move(*control));
  else
    journal.event("no_control", control.error().message());
}

void run_requests::add_to(std::vector<pollfd>& fds) const {
  if (control_) control_->add_to(fds);
}

void run_requests::read(run_turn& into, const std::function<std::string()>& status) {
  if (!control_) return;
  for (const auto& request : control_->take()) {
    if (request.line.starts_with(cancel_word)) {
      auto job = request.line.substr(cancel_word.size());
      if (job.empty() && spec_.jobs.size() == 1) job = spec_.jobs.front().name;
      if (job.empty())
        control_->answer(request.from, "error there are several jobs: say which");
      else
        into.cancels.push_back({.asker = request.from, .job = job});
      continue;
    }
    // The end of the connection answers, with that of the launcher.
    if (request.line == stop_now_word) {
      into.signals.push_back({.name = "tidegate stop --now"});
      continue;
    }
    if (request.line == stop_word) {
      into.signals.push_back({.name = "tidegate stop", .saves = true, .once = true});
      continue;
    }
    if (request.line == trace_word || request.line == follow_word) {
      into.traces.push_back({.asker = request.from, .follows = request.line == follow_word});
      continue;
    }
    if (request.line == status_word) {
      control_->answer(request.from, status());
      continue;
    }
    scale_request wanted;
    wanted.asker = request.from;
    if (const auto parsed = parse(request.line, wanted); parsed.ok())
      into.requests.push_back(std::move(wanted));
    else
      control_->answer(request.from, "error " + parsed.message());
  }
}

void run_requests::answer(std::uint32_t asker, const std::string& line) {
  control_->answer(asker, line);
}

// "shards N", or "scale WORKERS JOB"; without a job, the only one.
runtime::status run_requests::parse(const std::string& line, scale_request& into) const {
  const auto bad = [](const std::string& why) {
    return runtime::status(runtime::errc::invalid_argument, why);
  };
  if (line.starts_with(shards_word)) {
    const auto slots = parse_unsigned(line.substr(shards_word.size()));
    if (!slots || *slots > runtime::limits::shards_max)
      return bad("a number of shards is asked for");
    into.number = static_cast<std::uint32_t>(*slots);
    return {};
  }
  const auto words = line.starts_with(scale_word) ? line.substr(scale_word.size()) : "";
  const auto gap = std::min(words.find(' '), words.size());
  const auto workers = parse_unsigned(words.substr(0, gap));
  into.job = words.substr(std::min(gap + 1, words.size()));
  if (into.job.empty() && spec_.jobs.size() == 1) into.job = spec_.jobs.front().name;
  if (!workers || *workers > runtime::limits::workers_max)
    return bad("a number of workers is asked for");
  if (into.job.empty()) return bad("there are several jobs: say which, --job NAME");
  if (spec_.find_job(into.job) == nullptr) return bad("no job '" + into.job + "' in this run");
  into.number = static_cast<std::uint32_t>(*workers);
  return {};
}

}  // namespace tidegate::launch
