#include "policies/launcher/plan.hpp"

namespace tidegate::policies {

const launch_plan::job* launch_plan::find_job(std::string_view name) const noexcept {
  for (const auto& planned : jobs)
    if (planned.name == name) return &planned;
  return nullptr;
}

std::string launch_plan::host_of_worker(const std::string& job, std::uint32_t rank) const {
  const auto* planned = find_job(job);
  return planned == nullptr || rank >= planned->hosts.size() ? std::string()
                                                             : planned->hosts[rank];
}

}  // namespace tidegate::policies
