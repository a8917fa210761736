// A run of a cluster as its core decides it: one shard, and the jobs that a test names. Starts
// what the core starts, keeps the time, and says what came of each event, a line an effect.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "policies/launcher/core.hpp"
#include "tests/policies/launcher/effect_texts.hpp"
#include "tests/policies/launcher/job_statuses.hpp"
#include "tests/policies/launcher/plans.hpp"

namespace tidegate::policies::tests {

using lines = std::vector<std::string>;

class launched {
 public:
  // Jobs and their workers.
  explicit launched(const std::vector<std::pair<std::string, std::uint32_t>>& jobs,
                    bool workers_come_back = false, bool goes_back = false)
      : plan_(plan_of(jobs, workers_come_back)), core_(with(plan_, goes_back)) {
    core_.begin(now_, out_);
    decide();
  }

  // One that goes on: everything is started, and that has been looked at.
  static launched running_with(const std::vector<std::pair<std::string, std::uint32_t>>& jobs,
                               bool workers_come_back = false, bool goes_back = false) {
    launched run(jobs, workers_come_back, goes_back);
    run.ready();
    run.seen();
    return run;
  }

  // So many of its next starts fail.
  void cannot_start(const std::string& name, int starts = 1'000) {
    unstartable_ = {name, starts};
  }

  // What comes of putting epochs on record from now on.
  void has_disk(runtime::status disk) { disk_ = std::move(disk); }

  void ready() {
    core_.coordinator_ready(now_, out_);
    decide();
  }
  void gives_no_port() {
    core_.coordinator_unusable(now_, "no port", out_);
    decide();
  }
  void says(const std::vector<job_status>& jobs,
            const std::vector<condemned_process>& condemned = {}) {
    core_.polled(now_,
                 {.health = {},
                  .answered = polls_,
                  .jobs = jobs,
                  .incarnation = 0,
                  .lost = {},
                  .condemned = condemned},
                 out_);
    decide();
  }
  // As it was before the latest poll that was asked for.
  void says_of_before(const std::vector<job_status>& jobs) {
    core_.polled(
        now_,
        {.health = {}, .answered = polls_ - 1, .jobs = jobs, .incarnation = 0, .lost = {}},
        out_);
    decide();
  }
  void is_silent() {
    core_.polled(now_,
                 {.health = {runtime::errc::timed_out, "no answer"},
                  .answered = polls_,
                  .jobs = {},
                  .incarnation = 0,
                  .lost = {}},
                 out_);
    decide();
  }
  void is_unreachable() {
    core_.unreachable(now_, {runtime::errc::unavailable, "nobody listens"}, out_);
    decide();
  }
  void is_interrupted() {
    core_.interrupted(now_, "SIGINT", true, out_);
    decide();
  }
  void is_terminated() {
    core_.interrupted(now_, "SIGTERM", false, out_);
    decide();
  }
  void cancel(const std::string& job) {
    EXPECT_TRUE(core_.cancel(job, "somebody", out_).ok());
    decide();
  }
  void ends(const std::string& name, ending kind = ending::clean) {
    ends(std::vector{std::pair{name, kind}});
  }
  // In one turn.
  void ends(const std::vector<std::pair<std::string, ending>>& all) {
    for (const auto& [name, kind] : all)
      core_.ended(now_, number_of(name), exit_of(name, kind));
    decide();
  }
  void hangs(const std::string& name, std::int64_t ms) {
    core_.hangs(number_of(name), ms * 1'000'000, out_);
    decide();
  }
  void all_end(const std::vector<std::string>& names) {
    for (const auto& name : names) ends(name);
  }
  // Passes time, waking the core only when it wants to be.
  void pass_ms(std::int64_t ms) {
    const auto until = now_ + ms * 1'000'000;
    while (core_.next_wake() > now_ && core_.next_wake() <= until) {
      now_ = core_.next_wake();
      decide();
    }
    now_ = until;
  }
  void host_is_up(host_number host) {
    core_.host_up(host, out_);
    decide();
  }
  void host_copies() { core_.host_copies(now_); }
  void host_is_lost(host_number host) {
    core_.host_down(now_, host, "host " + plan_.hosts[host].name + ": no word", out_);
    decide();
  }

  // From now on: the first does not reach the second; or is not heard of in surveys.
  void is_apart(host_number from, host_number to) { apart_.emplace(from, to); }
  void is_reached(host_number from, host_number to) { apart_.erase({from, to}); }
  void is_not_heard(host_number host) { silent_.insert(host); }
  void is_heard(host_number host) { silent_.erase(host); }
  void says(host_number host, const agent_reports::surveyed& news) {
    core_.host_surveyed(host, news);
    decide();
  }

  void spare_waits(spare_number spare, bool can_copy = false) {
    core_.spare_ready(spare, can_copy);
    decide();
  }
  void spare_ends(spare_number spare) { spares_end({spare}); }
  void spares_end(const std::vector<spare_number>& spares) {
    for (const auto spare : spares) core_.spare_ended(now_, spare, "a spare ended", out_);
    decide();
  }

  void left(const std::string& name, const runtime::status& result) {
    core_.left(now_, number_of(name), result, out_);
    decide();
  }

  void scale(const std::string& job, std::uint32_t workers) {
    for (std::uint32_t rank = 0; rank < workers; ++rank) {
      const process_name name{.role = process_role::worker, .job = job, .index = rank};
      if (std::find(plan_.processes.begin(), plan_.processes.end(), name) ==
          plan_.processes.end())
        plan_.processes.push_back(name);
    }
    core_.scale(job, workers, out_);
    decide();
  }

  void scale_shards(std::uint32_t slots) {
    core_.scale_shards(slots, out_);
    plan_.processes = core_.processes();
    decide();
  }

  // What has come of everything since the last call.
  lines seen() { return std::exchange(seen_, {}); }
  // Until the core wants to be woken; -1: it does not.
  std::int64_t sleeps_ms() const {
    const auto wake = core_.next_wake();
    return wake == launch_core::never ? -1 : (wake - now_) / 1'000'000;
  }
  launch_core& core() { return core_; }

  // The coordinator has a journal; one shard, and the one job with one worker that comes back.
  static launched with_journal_starting(bool goes_back = false) {
    auto plan = plan_of({{"mlp", 1}}, true);
    plan.goes_back = goes_back;
    plan.supervision.coordinator = {.max_restarts = 2,
                                    .within_ms = 60'000,
                                    .backoff_first_ms = 100,
                                    .backoff_last_ms = 5'000};
    launched run(std::move(plan));
    run.seen();
    return run;
  }
  static launched with_journal(bool goes_back) {
    auto run = with_journal_starting(goes_back);
    run.ready();
    run.says({running("mlp")});
    run.seen();
    return run;
  }
  // Workers of the one job come back within these limits.
  static launched that_restarts(std::uint32_t workers, const restart_spec& limits) {
    auto plan = plan_of({{"mlp", workers}}, true);
    plan.supervision.worker = limits;
    return in_training(std::move(plan));
  }
  // The one job keeps so many spares on each host; its workers are on these.
  static launched with_spares(std::uint32_t spares, const std::vector<std::string>& hosts,
                              bool goes_back = false) {
    auto plan = plan_of({{"mlp", static_cast<std::uint32_t>(hosts.size())}}, true);
    plan.goes_back = goes_back;
    plan.jobs[0].spares = spares;
    plan.jobs[0].hosts = hosts;
    launched run(std::move(plan));
    run.ready();
    run.seen();
    run.says({running("mlp")});
    return run;
  }
  // Workers of the one job are at home on these hosts, which are up; the rest on the first.
  static launched on_hosts(const std::vector<launch_plan::host>& hosts,
                           const std::vector<host_number>& homes, bool starts = true,
                           bool goes_back = false) {
    auto plan = plan_on_hosts(hosts, homes, !goes_back);
    plan.goes_back = goes_back;
    if (!starts) return launched(std::move(plan));
    auto run = launched(std::move(plan));
    for (host_number host = 0; host < hosts.size(); ++host) run.host_is_up(host);
    run.ready();
    run.says({running("mlp")});
    run.seen();
    return run;
  }
  // Hosts that have addresses, where none is up yet, and pairs that have to reach each other.
  static launched on_far_hosts(std::vector<launch_plan::host> hosts,
                               const std::vector<host_number>& homes,
                               const std::set<std::pair<host_number, host_number>>& needed) {
    for (auto& host : hosts)
      if (host.name != "outside") host.address = "at-" + host.name;
    auto plan = plan_on_hosts(std::move(hosts), homes, true);
    plan.must_reach = needed;
    return launched(std::move(plan));
  }
  // The one job goes on without workers that die.
  static launched that_shrinks(std::uint32_t workers) {
    auto plan = plan_of({{"mlp", workers}}, true);
    plan.jobs[0].on_worker_loss = worker_loss_rule::shrink;
    return in_training(std::move(plan));
  }
  // The one job has checkpoints, and has made a clock.
  static launched with_checkpoints() {
    auto plan = plan_of({{"mlp", 1}}, true);
    plan.jobs[0].checkpoints = true;
    auto run = in_training(std::move(plan));
    run.says({at_clock("mlp", 3)});
    return run;
  }
  // Up to four shards that move, with a replica; one slot of them begins.
  static launched with_moving_shards(bool goes_back = false) {
    return in_training(plan_with_moving_shards(goes_back));
  }
  // The one job has an aggregator, too.
  static launched with_aggregator() { return in_training(plan_with_aggregator()); }
  // A coordinator of this life.
  void says(std::uint32_t incarnation, const std::vector<job_status>& jobs) {
    core_.polled(now_,
                 {.health = {},
                  .answered = polls_,
                  .jobs = jobs,
                  .incarnation = incarnation,
                  .lost = {}},
                 out_);
    decide();
  }

 private:
  static launched in_training(launch_plan plan) {
    launched run(std::move(plan));
    run.ready();
    run.says({running("mlp")});
    run.seen();
    return run;
  }
  explicit launched(launch_plan plan) : plan_(std::move(plan)), core_(plan_) {
    core_.begin(now_, out_);
    decide();
  }
  static launch_plan with(launch_plan plan, bool goes_back) {
    plan.goes_back = goes_back;
    return plan;
  }
  process_number number_of(const std::string& name) const {
    const auto at = std::find_if(plan_.processes.begin(), plan_.processes.end(),
                                 [&](const auto& p) { return p.to_string() == name; });
    EXPECT_NE(at, plan_.processes.end()) << name;
    return static_cast<process_number>(at - plan_.processes.begin());
  }

  // Answers to surveys are another turn.
  void decide() {
    carry_out();
    do {
      has_answered_ = false;
      core_.decide(now_, out_);
      carry_out();
    } while (has_answered_);
    EXPECT_GT(core_.next_wake(), now_) << "what is due has been decided";
  }
  void carry_out() {
    while (!out_.all.empty())
      for (const auto& effect : std::exchange(out_.all, {})) carry_out(effect);
  }
  void carry_out(const launch_effects::effect& effect) {
    seen_.push_back(
        std::visit([this](const auto& content) { return text_of(content); }, effect));
    polls_ += std::holds_alternative<launch_effects::poll_now>(effect) ? 1 : 0;
    if (const auto* survey = std::get_if<launch_effects::survey>(&effect)) answer(*survey);
    if (std::holds_alternative<launch_effects::renew>(effect)) core_.renewed(now_, disk_, out_);
    const auto* start = std::get_if<launch_effects::start>(&effect);
    if (start == nullptr) return;
    if (name_of(start->process) == unstartable_.first && unstartable_.second-- > 0)
      core_.could_not_start(now_, start->process, "no memory", out_);
    else
      core_.started(now_, start->process, out_);
  }

  void answer(const launch_effects::survey& survey) {
    const auto& order = survey.order;
    if (order.step == survey_step::end || silent_.contains(survey.host)) return;
    agent_reports::surveyed news{.number = order.number, .step = order.step};
    if (order.step == survey_step::listen) news.port = 4000;
    for (const auto& peer : order.peers)
      if (apart_.contains({survey.host, peer.host}))
        news.unreached.push_back({.host = peer.host, .why = "no answer"});
    core_.host_surveyed(survey.host, news);
    has_answered_ = true;
  }

  std::string name_of(process_number process) const {
    return plan_.processes[process].to_string();
  }
  template <class Effect>
  std::string text_of(const Effect& content) const {
    if constexpr (std::is_same_v<Effect, launch_effects::start>)
      return "start " + name_of(content.process) +
             (content.incarnation == 1 ? ""
                                       : " again, " + std::to_string(content.incarnation)) +
             (plan_.hosts.size() < 2 ? "" : " on " + plan_.hosts[content.host].name) +
             (content.moved ? " without its memory" : "") + (content.joins ? " to join" : "") +
             (content.spare == no_spare ? "" : " as spare " + std::to_string(content.spare));
    else if constexpr (std::is_same_v<Effect, launch_effects::start_spare>)
      return "start spare " + std::to_string(content.spare) + " of " + content.job +
             " beside rank " + std::to_string(content.rank) +
             (content.copy_of == no_spare ? "" : ", of " + std::to_string(content.copy_of));
    else if constexpr (std::is_same_v<Effect, launch_effects::survey>)
      return text_of_survey(content);
    else if constexpr (std::is_same_v<Effect, launch_effects::end_spare>)
      return "end spare " + std::to_string(content.spare);
    else if constexpr (std::is_same_v<Effect, launch_effects::leave>)
      return "leave " + name_of(content.process);
    else if constexpr (std::is_same_v<Effect, launch_effects::terminate>)
      return "terminate " + name_of(content.process);
    else if constexpr (std::is_same_v<Effect, launch_effects::kill>)
      return "kill " + name_of(content.process);
    else if constexpr (std::is_same_v<Effect, launch_effects::show_log>)
      return "log of " + name_of(content.process);
    else if constexpr (std::is_same_v<Effect, launch_effects::show_agent_log>)
      return "log of the agent of " + plan_.hosts[content.host].name;
    else
      return text_of_effect(content);
  }
  std::string text_of_survey(const launch_effects::survey& survey) const {
    const char* const steps[] = {" listens", " reaches", " listens no longer"};
    auto text = plan_.hosts[survey.host].name + steps[static_cast<int>(survey.order.step)];
    for (const auto& peer : survey.order.peers) text += " " + plan_.hosts[peer.host].name;
    return text;
  }

  launch_plan plan_;
  launch_core core_;
  launch_effects out_;
  lines seen_;
  std::pair<std::string, int> unstartable_;
  runtime::status disk_;
  std::set<std::pair<host_number, host_number>> apart_;
  std::set<host_number> silent_;
  bool has_answered_ = false;
  std::uint64_t polls_ = 0;
  std::int64_t now_ = 1'000'000'000;
};

}  // namespace tidegate::policies::tests
