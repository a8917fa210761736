#include "launch/run/run_faults.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "launch/text/scalars.hpp"

namespace tidegate::launch {

namespace {

std::string slow_text(const policies::slow_fault& slow) {
  std::string text;
  if (slow.factor > 1)
    text = "it computes " + format_real(slow.factor) + " times as long from clock " +
           std::to_string(slow.from) +
           (slow.until ? " and before " + std::to_string(*slow.until) : "");
  if (slow.link_delay_ms > 0)
    text += (text.empty() ? "" : ", ") + std::string("what it sends comes ") +
            format_duration_ms(slow.link_delay_ms) + " later";
  if (slow.disk_delay_ms > 0)
    text += (text.empty() ? "" : ", ") + std::string("its parts of checkpoints take ") +
            format_duration_ms(slow.disk_delay_ms) + " longer";
  return text.empty() ? "it is not" : text;
}

}  // namespace

void run_faults::begin(std::int64_t now) {
  if (spec_.faults.hits()) faults_.emplace(spec_.faults, now);
  for (const auto& slow : spec_.faults.slow)
    journal_.event("fault", slow.process + " is slow: " + slow_text(slow),
                   {.process = slow.process});
}

void run_faults::cause(std::int64_t now) {
  helpers_.reap(journal_);
  const auto& core = shell_.core();
  if (!faults_ || !core.is_running()) return;
  std::vector<policies::chaos_target> living;
  for (const auto& process : shell_.living()) living.push_back({process.name, process.pid, 0});
  std::uint64_t clock = 0;
  for (const auto& job : spec_.jobs)
    if (const auto* status = core.job(job.name)) clock = std::max(clock, status->clock_slowest);
  std::vector<policies::chaos_order> orders;
  faults_->wake(now, living, clock, orders);
  for (const auto& order : orders) obey(order);
}

void run_faults::obey(const policies::chaos_order& order) {
  using policies::chaos_act;
  if (!order.choice.hits_process()) return helpers_.start(order, programs_, journal_);
  using policies::process_signal;
  const auto [subject, signal] =
      order.choice.act == chaos_act::kill   ? std::pair("kill", process_signal::kill)
      : order.choice.act == chaos_act::stop ? std::pair("stop", process_signal::stop)
                                            : std::pair("continue", process_signal::go_on);
  const auto& target = order.target;
  journal_.event("fault", std::string(subject) + " " + target.name.to_string() + " pid " +
                              std::to_string(target.pid));
  shell_.disturb(target.name, signal);
}

std::int64_t run_faults::next_wake() const {
  return faults_ && shell_.core().is_running() ? faults_->next_wake()
                                               : policies::fault_core::never;
}

}  // namespace tidegate::launch
