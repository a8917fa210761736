// What a running launcher is asked for through its control socket: other numbers of
// workers and shards.
#include <algorithm>
#include <utility>

#include "launch/run.hpp"
#include "launch/scalars.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::launch {

namespace {

constexpr std::string_view scale_word = "scale ";
constexpr std::string_view shards_word = "shards ";

}  // namespace

void run::ask(status_poller::question what, answered then) {
  asked_[poller_->ask(std::move(what))] = std::move(then);
}

void run::on_requests() {
  if (!control_) return;
  for (auto& one : control_->take()) {
    scaling wanted;
    wanted.from = one.from;
    if (const auto read = read_request(one.line, wanted); read.ok())
      scalings_.push_back(std::move(wanted));
    else
      control_->answer(one.from, "error " + read.message());
  }
  ask_to_scale();
  carry_out_effects();
}

// "shards N", or "scale WORKERS JOB"; without a job, the only one.
runtime::status run::read_request(const std::string& line, scaling& into) const {
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
  const bool known = std::any_of(spec_.jobs.begin(), spec_.jobs.end(),
                                 [&](const auto& spec) { return spec.name == into.job; });
  if (!workers || *workers > runtime::limits::workers_max)
    return bad("a number of workers is asked for");
  if (into.job.empty()) return bad("there are several jobs: say which, --job NAME");
  if (!known) return bad("no job '" + into.job + "' in this run");
  into.number = static_cast<std::uint32_t>(*workers);
  return {};
}

void run::ask_to_scale() {
  if (scalings_.empty() || scalings_.front().asked) return;
  auto& next = scalings_.front();
  const auto* job = core_.job(next.job);
  const bool over = job != nullptr && (job->state == policies::job_state::done ||
                                       job->state == policies::job_state::failed);
  if (over) return scaled({runtime::errc::cancelled, "job " + next.job + " has ended"});
  const bool may = next.of_shards() ? core_.may_scale_shards() : core_.may_scale(next.job);
  if (!poller_ || !may) return;  // soon
  next.asked = true;
  ask(
      [what = next](cluster_view& view) {
        return what.of_shards() ? view.scale_shards(what.number)
                                : view.scale(what.job, what.number);
      },
      [this](const runtime::status& result) { scaled(result); });
}

void run::scaled(const runtime::status& result) {
  const auto what = std::move(scalings_.front());
  scalings_.pop_front();
  if (!result.ok()) {
    control_->answer(what.from, "error " + result.message());
    return ask_to_scale();
  }
  const bool goes_on = what.of_shards() ? core_.scale_shards(what.number, todo_)
                                        : core_.scale(what.job, what.number, todo_);
  if (!goes_on) {
    control_->answer(what.from, "error the run is being ended, or goes back to a checkpoint");
    return ask_to_scale();
  }
  plan_the_others();
  control_->answer(what.from, "ok");
  ask_to_scale();
}

// Those that the core has added.
void run::plan_the_others() {
  for (auto next = plan_.processes.size(); next < core_.processes().size(); ++next) {
    const auto& name = core_.processes()[next];
    const auto job = std::find_if(spec_.jobs.begin(), spec_.jobs.end(),
                                  [&](const auto& spec) { return spec.name == name.job; });
    plan_.processes.push_back(policies::serves_shard(name.role)
                                  ? plan_shard(spec_, name.role, name.index)
                                  : plan_worker(spec_, *job, name.index));
  }
}

}  // namespace tidegate::launch
