#include "launch/processes/limits.hpp"

#include <algorithm>
#include <sys/resource.h>

#include "policies/placement/descriptors.hpp"

namespace tidegate::launch {

runtime::status check_limits_of_this_machine(const policies::cluster_spec& spec) {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  return policies::check_process_needs(spec, limit.rlim_max);
}

void raise_descriptor_limit(const policies::cluster_spec& spec) {
  rlimit limit = {};
  const rlim_t wanted = policies::descriptors_wanted(spec);
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace tidegate::launch
