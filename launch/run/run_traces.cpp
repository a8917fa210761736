#include "launch/run/run_traces.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "launch/trace/process_spans.hpp"
#include "launch/trace/write_trace.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::launch {

namespace {

const char* name_of(span_request::reason why) {
  switch (why) {
    case span_request::reason::job_failed:
      return spans_failure;
    case span_request::reason::hang:
      return spans_hang;
    case span_request::reason::run_ended:
      return spans_end;
    case span_request::reason::asked:
      break;
  }
  return spans_asked;
}

}  // namespace

void run_traces::begin(const span_request& wanted) {
  wanted_ = wanted;
  name_ = name_of(wanted.why);
  file_ = std::ofstream(journal_.folder().path() + "/" + name_ + ".tmp", std::ios::trunc);
  file_ << spans_header(wanted.detail, runtime::unix_now());
}

void run_traces::add(const std::string& host, const policies::agent_reports::spans& spans) {
  file_ << spans_line({.writer = spans.writer,
                       .incarnation = spans.incarnation,
                       .host = host,
                       .spans = spans.all});
}

std::optional<run_traces::answer> run_traces::end() {
  const auto path = journal_.folder().path() + "/" + name_;
  const auto unfinished = path + ".tmp";
  file_.close();
  std::string problem;
  if (!file_ || std::rename(unfinished.c_str(), path.c_str()) != 0) {
    problem = path + " cannot be written: " + std::strerror(errno);
    std::remove(unfinished.c_str());
  }
  const bool is_asked = wanted_.why == span_request::reason::asked;
  if (!problem.empty())
    journal_.event("no_spans", problem);
  else if (!is_asked)
    journal_.event("spans", name_ + (wanted_.detail.empty() ? "" : ": " + wanted_.detail));
  if (!is_asked) return std::nullopt;
  return answer{.asker = wanted_.asker,
                .line = problem.empty() ? "ok " + name_ : "error " + problem};
}

}  // namespace tidegate::launch
