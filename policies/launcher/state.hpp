// All that a launcher knows of a run, divided along who owns it. Each part is a class with
// private state; the parts ask each other through this struct. core.hpp says what all of it
// does.
#pragma once

#include <cstdint>

#include "policies/launcher/coordinator_contact.hpp"
#include "policies/launcher/effects.hpp"
#include "policies/launcher/exit_judge.hpp"
#include "policies/launcher/host_list.hpp"
#include "policies/launcher/host_survey.hpp"
#include "policies/launcher/job_endings.hpp"
#include "policies/launcher/job_statuses.hpp"
#include "policies/launcher/job_watch.hpp"
#include "policies/launcher/join_watch.hpp"
#include "policies/launcher/last_checkpoint.hpp"
#include "policies/launcher/plan.hpp"
#include "policies/launcher/process_list.hpp"
#include "policies/launcher/restarter.hpp"
#include "policies/launcher/rollback.hpp"
#include "policies/launcher/run_lifecycle.hpp"
#include "policies/launcher/scaler.hpp"
#include "policies/launcher/spare_pool.hpp"
#include "policies/launcher/wake_time.hpp"
#include "policies/model/process_name.hpp"
#include "policies/model/spec.hpp"

namespace tidegate::policies::launching {

struct launcher_state {
  explicit launcher_state(launch_plan run);
  launcher_state(const launcher_state&) = delete;
  launcher_state& operator=(const launcher_state&) = delete;

  // Adds a process that the run did not begin with; it is unused so far.
  void add_process(const process_name& name);
  // Returns the rule of the process's job for lost workers; `fail` for a process of no job.
  worker_loss_rule loss_rule_of(process_number process) const;

  // As the run began: later processes are in `processes`, later epochs in `rollbacks`.
  const launch_plan plan;
  const std::int64_t start_timeout;
  process_list processes;
  host_list hosts;
  host_survey survey;
  job_statuses jobs;
  coordinator_contact coordinator;
  run_lifecycle lifecycle;
  exit_judge exits;
  restarter restarts;
  rollback rollbacks;
  join_watch joins;
  job_watch job_checks;
  job_endings endings;
  scaler scaling;
  last_checkpoint saving;
  spare_pool spares;
};

}  // namespace tidegate::policies::launching
