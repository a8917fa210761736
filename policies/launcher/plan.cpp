#include "policies/launcher/plan.hpp"

#include <algorithm>

namespace tidegate::policies {

std::string launch_plan::host_of_worker(const std::string& job, std::uint32_t rank) const {
  const auto at = std::find_if(jobs.begin(), jobs.end(),
                               [&](const auto& planned) { return planned.name == job; });
  return at == jobs.end() || rank >= at->hosts.size() ? std::string() : at->hosts[rank];
}

}  // namespace tidegate::policies
