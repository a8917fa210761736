// What a running launcher is asked for through its control socket: other numbers of workers.
#include <algorithm>
#include <utility>

#include "launch/run.hpp"
#include "launch/scalars.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::launch {

namespace {

constexpr std::string_view scale_word = "scale ";

}  // namespace

void run::ask(status_poller::question what, answered then) {
  asked_[poller_->ask(std::move(what))] = std::move(then);
}

// "scale WORKERS JOB"; without a job, the only one.
void run::on_requests() {
  if (!control_) return;
  for (auto& one : control_->take()) {
    const auto refuse = [&](const std::string& why) {
      control_->answer(one.from, "error " + why);
    };
    const auto words =
        one.line.starts_with(scale_word) ? one.line.substr(scale_word.size()) : "";
    const auto gap = std::min(words.find(' '), words.size());
    const auto workers = parse_unsigned(words.substr(0, gap));
    auto job = words.substr(std::min(gap + 1, words.size()));
    if (job.empty() && spec_.jobs.size() == 1) job = spec_.jobs.front().name;
    const bool known = std::any_of(spec_.jobs.begin(), spec_.jobs.end(),
                                   [&](const auto& spec) { return spec.name == job; });
    if (!workers || *workers > runtime::limits::workers_max)
      refuse("a number of workers is asked for");
    else if (job.empty())
      refuse("there are several jobs: say which, --job NAME");
    else if (!known)
      refuse("no job '" + job + "' in this run");
    else
      scalings_.push_back({one.from, job, static_cast<std::uint32_t>(*workers), false});
  }
  ask_to_scale();
  carry_out_effects();
}

void run::ask_to_scale() {
  if (scalings_.empty() || scalings_.front().asked) return;
  auto& next = scalings_.front();
  const auto* job = core_.job(next.job);
  const bool over = job != nullptr && (job->state == policies::job_state::done ||
                                       job->state == policies::job_state::failed);
  if (over) return scaled({runtime::errc::cancelled, "job " + next.job + " has ended"});
  if (!poller_ || !core_.may_scale(next.job)) return;  // soon
  next.asked = true;
  ask([job = next.job,
       workers = next.workers](cluster_view& view) { return view.scale(job, workers); },
      [this](const runtime::status& result) { scaled(result); });
}

void run::scaled(const runtime::status& result) {
  const auto what = std::move(scalings_.front());
  scalings_.pop_front();
  if (!result.ok()) {
    control_->answer(what.from, "error " + result.message());
    return ask_to_scale();
  }
  if (!core_.scale(what.job, what.workers, todo_)) {
    control_->answer(what.from, "error the run is being ended, or goes back to a checkpoint");
    return ask_to_scale();
  }
  const auto job = std::find_if(spec_.jobs.begin(), spec_.jobs.end(),
                                [&](const auto& spec) { return spec.name == what.job; });
  for (std::uint32_t rank = 0; rank < what.workers; ++rank) {
    auto made = plan_worker(spec_, *job, rank);
    const bool there =
        std::any_of(plan_.processes.begin(), plan_.processes.end(),
                    [&](const process_plan& one) { return one.name == made.name; });
    if (!there) plan_.processes.push_back(std::move(made));
  }
  control_->answer(what.from, "ok");
  ask_to_scale();
}

}  // namespace tidegate::launch
