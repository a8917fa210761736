#include "launch/run/run.hpp"

#include <algorithm>
#include <signal.h>
#include <sys/random.h>
#include <utility>

#include "launch/text/scalars.hpp"
#include "policies/consistency/consistency.hpp"
#include "policies/model/millisecond.hpp"
#include "policies/placement/hosts.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/unix_time.hpp"
#include "runtime/process/free_port.hpp"

namespace tidegate::launch {

namespace {

constexpr std::uint32_t poll_interval_ms = 200;
constexpr std::int64_t wait_ms_max = 60'000;  // an int holds it

std::uint64_t draw_token() {
  std::uint64_t token = 0;
  const auto n = ::getrandom(&token, sizeof token, 0);
  TIDEGATE_ASSERT(n == sizeof token,
                  "getrandom gives 8 bytes or the kernel is older than 3.17");
  return token;
}

policies::launch_plan plan_for_core(const policies::cluster_spec& spec,
                                    const cluster_plan& plan, std::uint32_t epoch) {
  policies::launch_plan launch_plan;
  launch_plan.epoch = epoch;
  for (const auto& p : plan.processes) launch_plan.processes.push_back(p.name);
  for (const auto& j : spec.jobs) {
    launch_plan.jobs.push_back({.name = j.name,
                                .policy = policies::to_string(j.consistency),
                                .workers = j.workers,
                                .on_worker_loss = j.on_worker_loss,
                                .checkpoints = j.checkpoint.has_value(),
                                .spares = j.spares});
    for (std::uint32_t rank = 0; rank < j.capacity(); ++rank) {
      const auto* host = policies::host_of_worker(spec, j, rank);
      launch_plan.jobs.back().hosts.push_back(host == nullptr ? "" : host->name);
    }
  }
  launch_plan.supervision = spec.supervision;
  launch_plan.replicated = spec.has_chains();
  launch_plan.shards = spec.shards;
  launch_plan.replicas = spec.replicas;
  launch_plan.slots = spec.slots;
  launch_plan.goes_back = std::all_of(spec.jobs.begin(), spec.jobs.end(),
                                      [](const auto& j) { return j.checkpoint.has_value(); });
  launch_plan.start_timeout_ms = spec.start_timeout_ms;
  launch_plan.start_timeout_text = format_duration_ms(spec.start_timeout_ms);
  return launch_plan;
}

}  // namespace

run::run(const policies::cluster_spec& spec, const services& cluster, const starter& start,
         run_journal& journal, std::uint32_t epoch)
    : spec_(spec),
      cluster_(cluster),
      journal_(journal),
      identity_{.token = draw_token(),
                .port = 0,
                .run_dir = journal.folder().path(),
                .epoch = epoch,
                .workers_port = runtime::free_port()},
      processes_(spec, start, journal, identity_),
      agent_(processes_, spec.supervision.heartbeat_timeout_ms),
      shell_(plan_for_core(spec, make_plan(spec), epoch), *this, draw_token()),
      output_(spec, journal),
      faults_(spec, start, journal, processes_),
      requests_(spec) {}

runtime::status run::follow_workers() {
  return output_.follow_workers();
}

exit_code run::carry_out() {
  now_ = runtime::steady_now();
  faults_.begin(now_);
  requests_.listen(journal_);
  output_.write_launcher(identity_.token);
  shell_.begin(now_);
  output_.show(now_, shell_.core());
  while (!shell_.ended()) {
    wait();
    now_ = runtime::steady_now();
    auto turn = collect();
    shell_.turn(now_, std::move(turn));
    faults_.cause(now_, shell_.core());
    output_.show(now_, shell_.core());
  }
  if (poller_) shell_.conclude(now_, take_news());  // of the poll when the end was ordered
  faults_.finish();
  return output_.conclude(shell_.core());
}

void run::wait() {
  std::vector<pollfd> fds{{.fd = signals_.fd(), .events = POLLIN, .revents = 0}};
  if (poller_) fds.push_back({poller_->fd(), POLLIN, 0});
  processes_.add_to(fds);
  faults_.add_to(fds);
  output_.add_to(fds);
  requests_.add_to(fds);
  const auto wake =
      std::min({shell_.next_wake(), agent_.next_wake(), faults_.next_wake(shell_.core())});
  auto ms = processes_.has_news() ? 0 : wait_ms_max;
  // Rounded up: a wake-up too early decides nothing.
  if (wake != policies::launch_core::never && ms > 0)
    ms = std::clamp<std::int64_t>(
        (wake - runtime::steady_now() + policies::millisecond - 1) / policies::millisecond, 0,
        wait_ms_max);
  ::poll(fds.data(), fds.size(), static_cast<int>(ms));
}

// What has happened since the last turn.
run_turn run::collect() {
  run_turn turn;
  for (int s = signals_.next(); s != 0; s = signals_.next())
    turn.signals.push_back({s == SIGINT    ? "SIGINT"
                            : s == SIGTERM ? "SIGTERM"
                                           : "SIGHUP",
                            s == SIGINT});
  agent_turn of_host;
  processes_.read(of_host);
  agent_.turn(now_, std::move(of_host));
  if (poller_) turn.news = take_news();
  if (processes_.adopts())
    reap_strays([&](pid_t pid) { return processes_.has(pid) || faults_.has(pid); });
  requests_.read(turn);
  return turn;
}

poll_news run::take_news() {
  auto news = poller_->take();
  for (const auto& e : news.status.events) journal_.event(e);
  output_.look_at_waits(now_, shell_.core(), news.health, std::move(news.status.waits));
  output_.watch_progress(now_, shell_.core());
  return news;
}

void run::start_agent(const policies::host_effects::start_agent& start) {
  agent_.start(now_, start.start);
}

void run::send(policies::agent_connection, const policies::launcher_frame& frame) {
  agent_.send(now_, frame);
}

void run::watch() {
  actors::node_options options;
  options.coordinator_host = reachable_host(spec_);
  options.coordinator_port = identity_.port;
  options.token = identity_.token;
  options.transport = spec_.transport;
  options.start_timeout_ms = spec_.start_timeout_ms;
  poller_ = std::make_unique<status_poller>(cluster_.observe, options, poll_interval_ms);
}

void run::unwatch() {
  poller_.reset();
  output_.forget_waits();
}

std::uint64_t run::ask(const launch_question& question) {
  using about = launch_question::kind;
  return poller_->ask([question](cluster_view& view) -> runtime::status {
    switch (question.about) {
      case about::leave:
        return view.leave(question.name.job, question.name.index);
      case about::save:
        return view.want_last_checkpoint(question.name.job);
      case about::scale:
        return view.scale(question.name.job, question.number);
      case about::scale_shards:
        return view.scale_shards(question.number);
      case about::process_ended:
        return view.process_ended(question.name, question.incarnation);
    }
    return {};
  });
}

void run::finish(poll_shell::job_failures failures) {
  poller_->finish(std::move(failures));
}

// Nobody of the epoch before lives.
runtime::status run::record_epoch(std::uint32_t epoch) {
  processes_.begin_epoch();
  identity_.port = 0;
  identity_.epoch = epoch;
  return journal_.folder().record_epoch(epoch);
}

void run::event(const std::string& subject, const std::string& detail) {
  journal_.event(subject, detail);
}

// Pids of other machines mean nothing here.
runtime::status run::write_pids(const std::vector<live_process>& processes) {
  auto own = processes;
  std::erase_if(own, [](const auto& process) { return process.host != inner_agent::host; });
  return journal_.write("pids.json", pids_json(own));
}

void run::show_log(policies::process_number process) {
  output_.show_log(shell_.core().processes()[process]);
}

void run::answer(std::uint32_t asker, const std::string& line) {
  requests_.answer(asker, line);
}

}  // namespace tidegate::launch
