// How coordinator_core ends a job: its workers have finished, or it has failed.
#include <algorithm>
#include <utility>

#include "policies/coordinator/core.hpp"

namespace tidegate::policies {

using runtime::errc;

void coordinator_core::worker_finished(std::int64_t now, const std::string& name,
                                       std::uint32_t rank, const worker_progress& last,
                                       const std::string& parameters_sha256,
                                       coordinator_effects& out) {
  auto* job = find(name);
  if (!job || rank >= job->workers.size() || job->state == job_state::failed) return;
  if (job->workers[rank].finished) return;  // it has not heard that this is known
  job->workers[rank].finished = true;
  job->workers[rank].last = last;
  if (!parameters_sha256.empty()) job->parameters_sha256 = parameters_sha256;
  record(*job, rank, out);
  record(*job, out);
  event(now, "worker_finished", name + " rank " + std::to_string(rank));
  tell_finished(*job, rank, out);
  maybe_ended(now, *job, out);
}

void coordinator_core::maybe_ended(std::int64_t now, job_record& job,
                                   coordinator_effects& out) {
  const bool all = std::all_of(job.workers.begin(), job.workers.end(),
                               [](const worker_state& worker) { return worker.finished; });
  if (all) job.at_end = true;
  // The last checkpoint needs every shard; without one of them all_joined() sees to it.
  if (all && (!job.rounds || all_in()))
    all_finished(now, static_cast<std::size_t>(&job - jobs_.data()), out);
}

void coordinator_core::fail_job(std::int64_t now, const std::string& name,
                                const std::string& why, coordinator_effects& out) {
  auto* job = find(name);
  if (!job || job->state == job_state::done || job->state == job_state::failed) return;
  const bool were_in = all_in();
  job->state = job_state::failed;
  job->failure = why;
  job->ended = now;
  if (job->began == 0) job->began = now;
  record(*job, out);
  event(now, "job_failed", name + ": " + why);
  close_below(*job, out);
  const auto index = static_cast<std::size_t>(job - jobs_.data());
  for (auto at = groups_.begin(); at != groups_.end();) {
    if (at->second.job != index) {
      ++at;
      continue;
    }
    for (auto requester : at->second.waiting)
      refuse(requester, errc::cancelled, "job " + name + " failed: " + why, out);
    at = groups_.erase(at);
  }
  for (auto* waiting : {&late_, &leaving_})
    std::erase_if(*waiting, [&](const call_group& late) {
      if (late.job != index) return false;
      for (auto requester : late.waiting)
        refuse(requester, errc::cancelled, "job " + name + " failed: " + why, out);
      return true;
    });
  std::erase_if(early_workers_, [&](const auto& early) {
    if (early.first.job != name) return false;
    refuse(early.second, errc::cancelled, "job " + name + " failed: " + why, out);
    return true;
  });
  begin_without(were_in, now, out);
}

bool coordinator_core::is_to_hash(const std::string& name, std::uint32_t rank) const {
  const auto* job = find(name);
  if (!job || rank >= job->workers.size()) return false;
  const auto first = std::find_if(
      job->workers.begin(), job->workers.end(),
      [](const worker_state& worker) { return !worker.finished && !worker.leaves; });
  return first - job->workers.begin() == rank && job->parameters_sha256.empty();
}

}  // namespace tidegate::policies
