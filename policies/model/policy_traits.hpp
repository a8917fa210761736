// The consistency policies by name, and what the rest of the system must know of each besides
// its decisions (policies/consistency has those). Adding a policy: CONTRIBUTING.md.
#pragma once

#include <cstdint>
#include <string_view>

namespace tidegate::policies {

// X(NAME, NUMBER, EXACT_VERSIONS, WAITS_FOR_OTHERS, HAS_STALENESS): the registry, one line
// each; the last three are as in policy_traits. A policy of this list has a function make_NAME
// in policies/consistency. Numbers travel in calls, so they are never used again.
#define TIDEGATE_POLICIES(X)   \
  X(bsp, 0, true, true, false) \
  X(ssp, 1, false, true, true) \
  X(async, 2, false, false, false)

enum class consistency_kind : std::uint8_t {
#define TIDEGATE_KIND(name, number, ...) name = number,
  TIDEGATE_POLICIES(TIDEGATE_KIND)
#undef TIDEGATE_KIND
};

struct policy_traits {
  std::string_view name;  // in YAML, messages and results; lives as long as the process
  // A pull at clock c gets version c and no other: each version has the pushes of all workers
  // below its clock.
  bool has_exact_versions = false;
  // A worker may wait for the pushes of others. Then all workers of a job open the same tables.
  bool waits_for_others = false;
  bool has_staleness = false;  // consistency_spec::staleness
};

// Returns the traits of a policy that is known (asserted); valid as long as the process.
const policy_traits& traits_of(consistency_kind kind) noexcept;
// Makes a policy known that is not in the list, and returns its kind; register_policy() in
// policies/consistency calls it. To be called before any job, by one thread.
consistency_kind add_policy(const policy_traits& traits);

}  // namespace tidegate::policies
