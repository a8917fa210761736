// What a run's own file wants to go wrong (policies::fault_core says when).
#include <algorithm>
#include <signal.h>
#include <string>
#include <utility>
#include <vector>

#include "launch/run/run.hpp"

namespace tidegate::launch {

// Processes that have ended are reaped here and nowhere else, so a pid is still its process's.
void run::cause_faults() {
  helpers_.reap(journal_);
  if (!faults_ || !shell_.core().is_running()) return;
  std::vector<policies::chaos_target> living;
  for (const auto& process : table_.list()) living.push_back({process.name, process.pid, 0});
  std::uint64_t clock = 0;
  for (const auto& job : spec_.jobs)
    if (const auto* status = shell_.core().job(job.name))
      clock = std::max(clock, status->clock_slowest);
  std::vector<policies::chaos_order> orders;
  faults_->wake(now_, living, clock, orders);
  for (const auto& order : orders) obey(order);
}

void run::obey(const policies::chaos_order& order) {
  using policies::chaos_act;
  if (!order.choice.hits_process()) return helpers_.start(order, starter_, journal_);
  const auto [subject, number] =
      order.choice.act == chaos_act::kill   ? std::pair("kill", SIGKILL)
      : order.choice.act == chaos_act::stop ? std::pair("stop", SIGSTOP)
                                            : std::pair("continue", SIGCONT);
  const auto& target = order.target;
  journal_.event("fault", std::string(subject) + " " + target.name.to_string() + " pid " +
                              std::to_string(target.pid));
  table_.signal(target.name, number);
}

}  // namespace tidegate::launch
