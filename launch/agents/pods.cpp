#include "launch/agents/pods.hpp"

#include <algorithm>

#include "launch/text/scalars.hpp"

namespace tidegate::launch {

namespace {

// Images are loaded first, and nodes may have to be made.
constexpr std::uint32_t start_timeout_ms = 600'000;

// As the controller of JobSets names them: JobSet, job, number of the job, number of the pod,
// and the service that is called as the JobSet.
std::string pod_address(const std::string& job_set, std::size_t host) {
  const auto pod = host == 0 ? std::string(launcher_job) + "-0-0"
                             : std::string(hosts_job) + "-0-" + std::to_string(host - 1);
  return job_set + "-" + pod + "." + job_set;
}

bool is_job_set_name(const std::string& name) {
  constexpr std::size_t characters_max = 40;
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && name.size() <= characters_max && is_letter(name.front()) &&
         name.back() != '-' && std::all_of(name.begin(), name.end(), [&](char c) {
           return is_letter(c) || is_digit(c) || c == '-';
         });
}

}  // namespace

runtime::status name_pods(policies::cluster_spec& cluster) {
  if (!is_job_set_name(cluster.name))
    return {runtime::errc::invalid_argument,
            "cluster.name '" + cluster.name +
                "' cannot name pods; allowed: lower-case letters, digits and -, a letter "
                "first, 40 at most (--set cluster.name=NAME)"};
  for (std::size_t host = 0; host < cluster.hosts.size(); ++host)
    cluster.hosts[host].address = pod_address(cluster.name, host);
  if (cluster.start_timeout_ms == policies::cluster_spec().start_timeout_ms)
    cluster.start_timeout_ms = start_timeout_ms;
  return {};
}

// The launcher waits for agents for no longer than for its start.
std::vector<std::string> relay_to_pod(const policies::cluster_spec& cluster,
                                      const std::string& address) {
  return {"tidegate",   "relay",  "--key-file",
          pod_key_file, "--wait", format_duration_ms(cluster.start_timeout_ms),
          address};
}

}  // namespace tidegate::launch
