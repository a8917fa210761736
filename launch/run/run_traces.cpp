#include "launch/run/run_traces.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "launch/trace/write_trace.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::launch {

namespace {

std::string name_of(const span_request& wanted) {
  switch (wanted.why) {
    case span_request::reason::job_failed:
      return spans_failure(wanted.job);
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

run_traces::run_traces(run_journal& journal, const policies::cluster_spec& spec)
    : journal_(journal) {
  using policies::consistency_kind;
  for (const auto& job : spec.jobs) {
    if (job.consistency.kind == consistency_kind::bsp) staleness_[job.name] = 0;
    if (job.consistency.kind == consistency_kind::ssp)
      staleness_[job.name] = job.consistency.staleness;
  }
}

void run_traces::begin(const span_request& wanted) {
  wanted_ = wanted;
  name_ = name_of(wanted);
  problem_.clear();
  file_ = std::ofstream(unfinished(), std::ios::trunc);
  is_open_ = file_.is_open();
  write(spans_header(wanted.detail, runtime::unix_now(), staleness_));
}

void run_traces::add(const std::string& host, const policies::agent_reports::spans& spans) {
  write(spans_line({.writer = spans.writer,
                    .incarnation = spans.incarnation,
                    .host = host,
                    .is_cut = spans.is_cut,
                    .spans = spans.all}));
}

// Why not is known right after that alone.
void run_traces::write(const std::string& text) {
  if (!problem_.empty()) return;
  errno = 0;
  if (!(file_ << text).flush()) problem_ = std::strerror(errno);
}

std::string run_traces::unfinished() const {
  return journal_.folder().path() + "/" + name_ + ".tmp";
}

std::optional<run_traces::answer> run_traces::end() {
  const auto path = journal_.folder().path() + "/" + name_;
  file_.close();
  if (problem_.empty() && std::rename(unfinished().c_str(), path.c_str()) != 0)
    problem_ = std::strerror(errno);
  if (!problem_.empty() && is_open_) std::remove(unfinished().c_str());
  const bool is_asked = wanted_.why == span_request::reason::asked;
  const auto why = path + " cannot be written: " + problem_;
  if (!problem_.empty())
    journal_.event("no_spans", why, {.job = wanted_.job, .cause = problem_});
  else if (!is_asked)
    journal_.event("spans", name_ + (wanted_.detail.empty() ? "" : ": " + wanted_.detail),
                   {.job = wanted_.job, .cause = wanted_.detail});
  if (!is_asked) return std::nullopt;
  return answer{.asker = wanted_.asker,
                .line = problem_.empty() ? "ok " + name_ : "error " + why};
}

}  // namespace tidegate::launch
