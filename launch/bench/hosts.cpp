#include "launch/bench/hosts.hpp"

#include <sstream>

namespace tidegate::bench {

runtime::expected<std::vector<policies::host_spec>> parse_hosts(const std::string& text) {
  std::vector<policies::host_spec> hosts;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    std::istringstream words(part);
    auto& host = hosts.emplace_back();
    host.name = "host-" + std::to_string(hosts.size());
    words >> host.address;
    for (std::string word; words >> word;) host.prefix.push_back(word);
  }
  if (hosts.size() != 2 || hosts[0].address.empty() || hosts[1].address.empty())
    return runtime::fail(runtime::errc::invalid_argument,
                         "'" + text +
                             "'; allowed: two hosts, ADDRESS [COMMAND ...] each, with a comma "
                             "between them");
  return hosts;
}

void spread(const std::vector<policies::host_spec>& hosts, policies::cluster_spec& into) {
  if (hosts.empty()) return;
  into.hosts = hosts;
  into.control_host = hosts.front().address;
  into.shard_hosts = {hosts.back().name};
  for (auto& job : into.jobs) job.hosts = {hosts.front().name};
}

}  // namespace tidegate::bench
