#include "policies/checkpoint/resume.hpp"

#include <limits>

namespace tidegate::policies {

using runtime::errc;

runtime::expected<resume_plan> plan_resume(const run_remains& remains,
                                           const std::string& shown) {
  // First: whatever else there is may be about to change.
  if (remains.has_launcher)
    return runtime::fail(errc::already_exists, "run folder " + shown +
                                                   ": a launcher of this run lives; end it "
                                                   "first, or let it go on");
  if (!remains.has_spec)
    return runtime::fail(errc::not_found,
                         "run folder " + shown +
                             ": has not both cluster.yaml and origin.json, so no run "
                             "began here; start one with tidegate launch FILE");
  // By the last life: one before it may have been done only if this one had nothing to do.
  if (remains.exit_code == 0) return resume_plan{true, remains.last_epoch};
  if (remains.last_epoch == std::numeric_limits<std::uint32_t>::max())
    return runtime::fail(errc::over_limit, "run folder " + shown + ": no epoch is left");
  return resume_plan{false, remains.last_epoch + 1};
}

}  // namespace tidegate::policies
