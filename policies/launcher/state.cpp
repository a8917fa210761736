#include "policies/launcher/state.hpp"

#include <utility>

#include "policies/model/millisecond.hpp"

namespace tidegate::policies::launching {

launcher_state::launcher_state(launch_plan run)
    : plan(std::move(run)),
      start_timeout(plan.start_timeout_ms * millisecond),
      processes(*this),
      hosts(*this),
      survey(*this),
      jobs(plan),
      coordinator(*this),
      lifecycle(*this),
      exits(*this),
      restarts(*this),
      rollbacks(*this),
      joins(*this),
      job_checks(*this),
      endings(*this),
      scaling(*this),
      saving(*this),
      spares(*this) {}

void launcher_state::add_process(const process_name& name) {
  processes.add(name);
  restarts.add();
  joins.add();
}

worker_loss_rule launcher_state::loss_rule_of(process_number process) const {
  const auto* job = plan.find_job(processes.name(process).job);
  return job == nullptr ? worker_loss_rule::fail : job->on_worker_loss;
}

}  // namespace tidegate::policies::launching
