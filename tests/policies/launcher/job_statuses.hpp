// Jobs as a coordinator tells of them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "policies/model/cluster_status.hpp"

namespace tidegate::policies::tests {

// Every worker that has been started so far has joined.
inline job_status job_in(const std::string& name, job_state state) {
  constexpr std::size_t ranks = 8;
  constexpr std::uint32_t latest = 1000;
  job_status job;
  job.name = name;
  job.state = state;
  job.incarnations.assign(ranks, latest);
  return job;
}

inline job_status waiting(const std::string& name, std::uint32_t joined) {
  auto job = job_in(name, job_state::waiting);
  job.workers_joined = joined;
  return job;
}

inline job_status running(const std::string& name, std::uint32_t finished = 0) {
  auto job = job_in(name, job_state::running);
  job.workers_finished = finished;
  return job;
}

inline job_status at_clock(const std::string& name, std::uint64_t clock, bool saved = false) {
  auto job = running(name);
  job.clock_fastest = clock;
  job.last_checkpoint = saved;
  return job;
}

// By rank: the last incarnation that has asked to join, 0 for none.
inline job_status joined_by(job_status job, std::vector<std::uint32_t> incarnations) {
  job.incarnations = std::move(incarnations);
  return job;
}

inline job_status done(const std::string& name) {
  return job_in(name, job_state::done);
}

inline job_status failed(const std::string& name, const std::string& why) {
  auto job = job_in(name, job_state::failed);
  job.failure = why;
  return job;
}

}  // namespace tidegate::policies::tests
