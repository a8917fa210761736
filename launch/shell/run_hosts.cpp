#include "launch/shell/run_hosts.hpp"

#include <algorithm>
#include <string>
#include <variant>

#include "launch/shell/inner_agent.hpp"
#include "policies/model/millisecond.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::launch {

using runtime::is_planted;
using runtime::planted_bug;

namespace reports = policies::agent_reports;
namespace orders = policies::agent_orders;

run_hosts::run_hosts(const policies::launch_plan& plan, std::uint64_t launcher, run_port& world,
                     policies::launch_core& core)
    : world_(world), core_(core) {
  auto hosts = plan.hosts;
  if (hosts.empty()) hosts.emplace_back();
  const auto unreachable = plan.supervision.unreachable_ms * policies::millisecond;
  for (policies::host_number host = 0; host < hosts.size(); ++host)
    contacts_.emplace_back(
        host,
        policies::host_options{.name = hosts[host].name,
                               .launcher = launcher,
                               .unreachable_ns = host == inner_agent::host ? 0 : unreachable,
                               .start_ns = plan.start_timeout_ms * policies::millisecond});
}

void run_hosts::begin(std::int64_t now) {
  now_ = now;
  for (auto& contact : contacts_) contact.begin(now_, todo_);
}

void run_hosts::tick(std::int64_t now) {
  now_ = now;
  for (auto& contact : contacts_)
    if (now_ >= contact.next_wake()) contact.tick(now_, todo_);
}

std::int64_t run_hosts::next_wake() const {
  auto at = policies::host_contact::never;
  for (const auto& contact : contacts_) at = std::min(at, contact.next_wake());
  return at;
}

// Agents that leave tell nothing more.
void run_hosts::leave(bool at_once) {
  leaves_ = true;
  if (spans_.is_under_way() && !at_once) return;
  for (auto& contact : contacts_) {
    contact.leave(now_, todo_);
    if (at_once) contact.end_by_force(todo_);
  }
}

bool run_hosts::are_gone() const {
  return std::all_of(contacts_.begin(), contacts_.end(),
                     [](const auto& contact) { return contact.is_gone(); });
}

std::vector<live_process> run_hosts::living() const {
  std::vector<live_process> processes;
  for (const auto& [number, process] : living_) processes.push_back(process);
  return processes;
}

bool run_hosts::carry_out(launch_effects& out) {
  for (auto& event : world_.take_agent_events()) hear(contacts_[event.host], event);
  const auto batch = std::exchange(todo_.all, {});
  for (const auto& effect : batch)
    std::visit([&](const auto& content) { act(content, out); }, effect);
  return !batch.empty();
}

void run_hosts::hear(policies::host_contact& contact, agent_event& event) {
  if (const auto* lost = std::get_if<agent_event::disconnected>(&event.happened))
    return contact.disconnected(lost->connection);
  if (const auto* end = std::get_if<agent_event::ended>(&event.happened))
    return contact.agent_ended(now_, end->why, todo_);
  if (std::holds_alternative<agent_event::copies>(event.happened)) {
    contact.copies(now_);
    return core_.host_copies(now_);
  }
  const auto& [over, frame] = std::get<agent_event::frame>(event.happened);
  if (const auto* hello = std::get_if<policies::agent_frame::hello>(&frame.content))
    return contact.greeted(now_, over, *hello, frame.taken, todo_);
  contact.heard(now_, over, frame, todo_);
}

void run_hosts::order(policies::host_number host, policies::agent_order content) {
  if (contacts_[host].may_order()) contacts_[host].order(now_, std::move(content), todo_);
}

// What is about the end of something waits for its turn.
void run_hosts::act(const host_effects::reported& report, launch_effects& out) {
  const auto& content = report.content;
  if (const auto* started = std::get_if<reports::started>(&content)) return take(*started, out);
  if (const auto* failed = std::get_if<reports::not_started>(&content))
    return take(*failed, out);
  if (const auto* port = std::get_if<reports::listens>(&content)) return take(*port, out);
  if (const auto* copied = std::get_if<reports::state>(&content))
    return take(report.host, *copied);
  if (const auto* news = std::get_if<reports::surveyed>(&content))
    return core_.host_surveyed(report.host, *news);
  if (const auto* spans = std::get_if<reports::spans>(&content))
    return take(report.host, *spans);
  if (const auto* log = std::get_if<reports::logged>(&content))
    return world_.append_log(log->writer, log->text);
  if (const auto* note = std::get_if<reports::noted>(&content)) {
    if (note->is_warning) world_.complain("warning: " + note->detail);
    return world_.event(note->subject, note->detail);
  }
  later_.push_back(report);
}

// Of those that were started there the coordinator may know one of which nothing was reported.
void run_hosts::act(const host_effects::down& host, launch_effects& out) {
  std::erase_if(later_, [&](const auto& report) { return report.host == host.host; });
  take(host.host, reports::spans{.number = spans_.number()});  // it tells no more
  for (const auto process : core_.processes_on(host.host)) {
    ended_.push_back({process, core_.incarnation(process)});
    is_changed_ |= living_.erase(process) > 0;
  }
  core_.host_down(now_, host.host, host.why, out);
}

void run_hosts::act(const launch_effects::start& start) {
  const auto& name = core_.processes()[start.process];
  world_.starting(name);
  if (start.spare != policies::no_spare) placed_[start.process] = start.spare;
  orders::start content{.process = {start.process, start.incarnation},
                        .name = name,
                        .epoch = start.epoch,
                        .joins = start.joins,
                        .moved = start.moved,
                        .spare = start.spare,
                        .coordinator_port = coordinator_port_};
  if (content.has_no_past()) mirrors_[start.process].begin_anew();
  if (const auto mirror = mirrors_.find(start.process);
      mirror != mirrors_.end() && start.moved) {
    content.state = mirror->second.image();
    if (const auto clock = mirror->second.newest_clock())
      world_.event(
          "state_moved",
          name.to_string() + " to host " + contacts_[start.host].name() +
              ", with what it kept at clock " + std::to_string(*clock),
          {.process = name.to_string(), .job = name.job, .rank = name.index, .clock = *clock});
  }
  order(start.host, content);
  if (is_planted(planted_bug::process_spawned_twice) && start.incarnation > 1)
    order(start.host, content);
}

void run_hosts::act(const launch_effects::start_spare& start) {
  order(start.host, orders::start_spare{.spare = start.spare,
                                        .job = start.job,
                                        .rank = start.rank,
                                        .copy_of = start.copy_of});
}

void run_hosts::act(const launch_effects::end_spare& end) {
  order(end.host, orders::end_spare{end.spare});
}

void run_hosts::signal(policies::process_number process, policies::process_signal content) {
  order(core_.host_of(process),
        orders::signal{.process = {process, core_.incarnation(process)}, .content = content});
}

bool run_hosts::is_current(const launched_process& process) const {
  return core_.incarnation(process.process) == process.incarnation;
}

void run_hosts::take(const reports::started& started, launch_effects& out) {
  const auto process = started.process.process;
  if (!is_current(started.process)) return;
  const auto& name = core_.processes()[process];
  quiet_ends_.began(process);
  living_[process] = {.name = name,
                      .pid = static_cast<int>(started.pid),
                      .started = started.started_at,
                      .host = core_.host_of(process),
                      .incarnation = started.process.incarnation};
  is_changed_ = true;
  if (started.was_spare)
    world_.event("spare_placed",
                 "spare " + std::to_string(placed_[process]) + " is " + name.to_string(),
                 policies::fields_of(name));
  const bool is_first = started.process.incarnation == 1;
  world_.event(
      is_first ? "process_started" : "process_restarted",
      name.to_string() + " pid " + std::to_string(started.pid) +
          (is_first ? "" : " incarnation " + std::to_string(started.process.incarnation)),
      policies::fields_of(name));
  core_.started(now_, process, out);
}

void run_hosts::take(const reports::not_started& failed, launch_effects& out) {
  if (is_current(failed.process))
    core_.could_not_start(now_, failed.process.process, failed.why, out);
}

void run_hosts::take(const reports::listens& coordinator, launch_effects& out) {
  if (!is_current(coordinator.process)) return;
  if (coordinator.port == 0) return core_.coordinator_unusable(now_, coordinator.unusable, out);
  coordinator_port_ = coordinator.port;
  world_.coordinator_listens(coordinator.port);
  core_.coordinator_ready(now_, out);
}

// What is copied is at the launcher when the worker hears of it, and goes to the next host with
// the order to start the worker there.
void run_hosts::take(policies::host_number host, const reports::state& copied) {
  if (!is_current(copied.process)) return;
  mirrors_[copied.process.process].take(copied.image);
  order(host, orders::state_mirrored{.process = copied.process, .number = copied.number});
}

// Ends come before spares, and these before hangs: an incarnation that has ended does not hang.
void run_hosts::take_reports(launch_effects& out) {
  auto all = std::exchange(later_, {});
  const auto rank_of = [](const host_effects::reported& report) {
    const auto& content = report.content;
    return std::holds_alternative<reports::ended>(content)         ? 0
           : std::holds_alternative<reports::spare_ready>(content) ? 1
           : std::holds_alternative<reports::spare_ended>(content) ? 2
                                                                   : 3;
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const auto& a, const auto& b) { return rank_of(a) < rank_of(b); });
  for (auto& report : all) {
    if (auto* end = std::get_if<reports::ended>(&report.content)) take(*end, out);
    if (const auto* ready = std::get_if<reports::spare_ready>(&report.content))
      take(*ready, out);
    if (const auto* end = std::get_if<reports::spare_ended>(&report.content)) take(*end, out);
    if (const auto* hang = std::get_if<reports::hangs>(&report.content)) take(*hang, out);
  }
}

void run_hosts::collect_spans(span_request wanted) {
  if (leaves_) return;
  spans_.want(now_, std::move(wanted));
  begin_to_collect();
}

// What led to it is in the memory of processes for some seconds.
void run_hosts::look_for_failures(const std::vector<policies::job_status>& jobs,
                                  const std::set<std::string>& cancelled) {
  for (const auto& job : jobs) {
    if (job.state != policies::job_state::failed || !failed_.insert(job.name).second) continue;
    if (!cancelled.contains(job.name))
      collect_spans({.why = span_request::reason::job_failed,
                     .detail = "job " + job.name + " has failed: " + job.failure,
                     .job = job.name});
  }
}

// What is written down of a hang or a failure is to cost little: each host tells so many at
// most.
void run_hosts::begin_to_collect() {
  constexpr std::uint32_t most = 1U << 15U;
  constexpr std::uint32_t most_asked = 1U << 18U;
  std::set<policies::host_number> hosts;
  for (policies::host_number host = 0; host < contacts_.size(); ++host)
    if (contacts_[host].is_up()) hosts.insert(host);
  while (const auto wanted = spans_.begin(hosts)) {
    world_.begin_spans(*wanted);
    const bool is_asked = wanted->why == span_request::reason::asked ||
                          wanted->why == span_request::reason::run_ended;
    for (const auto host : hosts)
      order(host, orders::tell_spans{.number = spans_.number(),
                                     .most = is_asked ? most_asked : most});
    if (!hosts.empty()) return;
    spans_.host_done(inner_agent::host);
    world_.end_spans();
  }
}

void run_hosts::take(policies::host_number host, const reports::spans& spans) {
  if (!spans_.expects(host, spans)) return;
  if (!spans.writer.empty())
    return world_.add_spans(host == inner_agent::host ? "" : contacts_[host].name(), spans);
  if (!spans_.host_done(host)) return;
  world_.end_spans();
  begin_to_collect();
  if (leaves_) leave();
}

std::string run_hosts::with_last_line(std::string text,
                                      const policies::process_name& name) const {
  const auto line = world_.last_line(name.to_string());
  return line.empty() ? text : text + " (its log ends: " + line + ")";
}

void run_hosts::take(reports::ended& end, launch_effects&) {
  const auto process = end.process.process;
  if (!is_current(end.process) || living_.erase(process) == 0) return;
  const auto& name = core_.processes()[process];
  const auto text = with_last_line(end.exit.text, name);
  const bool is_quiet = end.exit.kind == policies::process_exit::ending::clean;
  if (!is_quiet) end.exit.text = text;
  if (is_quiet && name.role == policies::process_role::worker)
    quiet_ends_.ended(process, name, text);
  world_.event("process_ended", end.exit.text, policies::fields_of(name, end.exit.text));
  core_.ended(now_, process, std::move(end.exit));
  ended_.push_back(end.process);
  is_changed_ = true;
}

void run_hosts::take(const reports::hangs& hang, launch_effects& out) {
  if (!is_current(hang.process)) return;
  collect_spans({.why = span_request::reason::hang,
                 .detail = core_.processes()[hang.process.process].to_string() +
                           " gives no sign of life"});
  core_.hangs(hang.process.process, hang.silent_ns, out);
}

void run_hosts::take(const reports::spare_ready& spare, launch_effects&) {
  world_.event("spare_waits", "spare " + std::to_string(spare.spare));
  core_.spare_ready(spare.spare, spare.can_copy);
}

void run_hosts::take(const reports::spare_ended& spare, launch_effects& out) {
  core_.spare_ended(now_, spare.spare, spare.why, out);
}

}  // namespace tidegate::launch
