#include "launch/simulate/cluster/journal_checker.hpp"

#include <variant>

namespace tidegate::sim {

void journal_checker::recorded(const policies::coordinator_record& record) {
  if (const auto* job = std::get_if<policies::recorded_job>(&record))
    content_.jobs[job->name] = *job;
  if (const auto* worker = std::get_if<policies::recorded_worker>(&record))
    content_.workers[{worker->job, worker->rank}] = *worker;
  const auto* tables = std::get_if<policies::recorded_tables>(&record);
  if (tables == nullptr) return;
  if (tables->number != content_.table_records++)
    fail("tables of record " + std::to_string(tables->number) + " follow " +
         std::to_string(content_.table_records - 1) + " records");
  for (const auto& spec : tables->specs) content_.tables.emplace_back(tables->job, spec.name);
}

void journal_checker::welcomed(const std::string& job, std::uint32_t rank,
                               std::uint32_t incarnation) {
  const auto at = content_.workers.find({job, rank});
  if (at == content_.workers.end() || !at->second.joined ||
      at->second.incarnation < incarnation)
    fail("job " + job + " rank " + std::to_string(rank) + " incarnation " +
         std::to_string(incarnation) + " is let in, and not on record");
}

void journal_checker::granted(const std::string& job, const policies::table_grant& grant) {
  if (grant.table >= content_.tables.size() ||
      content_.tables[grant.table] != std::pair(job, grant.name))
    fail("job " + job + " is given table " + grant.name + " with id " +
         std::to_string(grant.table) + ", which is not on record");
}

// Nobody records it of a job that has failed, nor of a rank that has left.
void journal_checker::told_finished(const std::string& job, std::uint32_t rank) {
  const auto of = content_.jobs.find(job);
  const bool has_failed =
      of != content_.jobs.end() && of->second.state == policies::job_state::failed;
  if (has_failed || membership_.has_left(job, rank)) return;
  const auto at = content_.workers.find({job, rank});
  if (at == content_.workers.end() || !at->second.finished)
    fail("job " + job + " rank " + std::to_string(rank) +
         " hears that it has finished, which is not on record");
}

void journal_checker::told_status(const policies::cluster_status& status) {
  for (const auto& job : status.jobs) {
    if (job.state == policies::job_state::waiting) continue;
    const auto at = content_.jobs.find(job.name);
    if (at == content_.jobs.end() || at->second.state != job.state)
      fail("the state of job " + job.name + ", " + std::to_string(static_cast<int>(job.state)) +
           ", is told and not on record");
  }
}

}  // namespace tidegate::sim
