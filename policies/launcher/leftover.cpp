#include "policies/launcher/leftover.hpp"

#include <algorithm>

namespace tidegate::policies {

namespace {

bool has_entry(std::string_view environment, const std::string& entry) {
  while (!environment.empty()) {
    const auto end = std::min(environment.find('\0'), environment.size());
    if (environment.substr(0, end) == entry) return true;
    environment.remove_prefix(std::min(end + 1, environment.size()));
  }
  return false;
}

}  // namespace

bool is_leftover(const process_facts& found, const launcher_mark& earlier,
                 const std::vector<std::string>& run_dirs,
                 const std::vector<std::int32_t>& listed) {
  const auto is_listed = [&](std::int32_t pid) {
    return std::find(listed.begin(), listed.end(), pid) != listed.end();
  };
  const bool is_in_place =
      found.session == earlier.session || is_listed(found.session) || is_listed(found.group);
  if (!is_in_place || found.started < earlier.started || earlier.token.empty()) return false;
  if (!earlier.host.empty() && !has_entry(found.environment, "TIDEGATE_HOST=" + earlier.host))
    return false;
  return has_entry(found.environment, "TIDEGATE_TOKEN=" + earlier.token) &&
         std::any_of(run_dirs.begin(), run_dirs.end(), [&](const auto& folder) {
           return has_entry(found.environment, "TIDEGATE_RUN_DIR=" + folder);
         });
}

}  // namespace tidegate::policies
