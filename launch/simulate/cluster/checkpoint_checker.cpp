#include "launch/simulate/cluster/checkpoint_checker.hpp"

namespace tidegate::sim {

void checkpoint_checker::kept(const policies::checkpoint_manifest& manifest) {
  auto& newest = newest_[manifest.job];
  if (manifest.id <= newest)
    log_.fail("epochs rise", "checkpoint " + to_string(manifest.id) + " of job " +
                                 manifest.job + " comes after " + to_string(newest));
  newest = std::max(newest, manifest.id);
}

void checkpoint_checker::goes_on_from(const std::string& job, policies::checkpoint_id id) {
  const auto at = newest_.find(job);
  if (at != newest_.end() && id < at->second)
    log_.fail("checkpoints", "job " + job + " goes back to " + to_string(id) + " though " +
                                 to_string(at->second) + " was durable");
}

}  // namespace tidegate::sim
