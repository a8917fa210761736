// Which checkpoints are durable, and that no job goes on from an older one. One thread.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "launch/simulate/cluster/violation_log.hpp"
#include "policies/checkpoint/manifest.hpp"

namespace tidegate::sim {

class checkpoint_checker {
 public:
  // `log` outlives it.
  explicit checkpoint_checker(violation_log& log) : log_(log) {}

  // The checkpoint is durable.
  void kept(const policies::checkpoint_manifest& manifest);
  // The job goes on from this one, or begins anew: then its number is 0.
  void goes_on_from(const std::string& job, policies::checkpoint_id id);

 private:
  violation_log& log_;
  std::map<std::string, policies::checkpoint_id> newest_;  // by job
};

}  // namespace tidegate::sim
