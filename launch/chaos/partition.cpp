#include "launch/chaos/partition.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <utility>
#include <vector>

#include "launch/config/read_spec.hpp"
#include "launch/plan/run_paths.hpp"
#include "launch/processes/output_of.hpp"
#include "launch/text/nearest.hpp"
#include "policies/placement/hosts.hpp"

namespace tidegate::chaos {

namespace {

using runtime::errc;
using runtime::fail;
using runtime::status;

runtime::expected<std::string> ip(const policies::host_spec& host,
                                  const std::vector<std::string>& words) {
  auto command = host.prefix;
  command.push_back("ip");
  command.insert(command.end(), words.begin(), words.end());
  return launch::output_of(command);
}

}  // namespace

runtime::expected<std::vector<std::string>> hosts_of(const std::string& run_dir) {
  const auto spec = launch::load_cluster(run_dir + "/cluster.yaml", {});
  if (!spec) return fail(spec.error());
  std::vector<std::string> names;
  for (const auto& host : spec->hosts)
    if (!host.address.empty()) names.push_back(host.name);
  return names;
}

runtime::expected<policies::host_spec> find_host(const std::string& run_dir,
                                                 const std::string& name) {
  std::error_code error;
  const bool has_engine = std::filesystem::exists(run_dir + "/" + launch::engine_file, error);
  const auto spec = launch::load_cluster(run_dir + "/cluster.yaml", {});
  if (!spec) return fail(spec.error());
  std::vector<std::string> names;
  for (const auto& host : spec->hosts) {
    if (host.name == name && (!host.ssh.empty() || has_engine))
      return fail(errc::invalid_argument,
                  "host " + name + " is reached over the network that would be cut off: use " +
                      "means of its own");
    if (host.name == name && !host.address.empty()) return host;
    names.push_back(host.name);
  }
  return fail(errc::not_found,
              "no host " + name + " with an address; there are: " +
                  (names.empty() ? "none (cluster.hosts)" : launch::join(names)));
}

runtime::expected<std::vector<std::string>> interfaces_of(const policies::host_spec& host) {
  std::vector<std::string> all;
  for (const auto& address : policies::addresses_of(host)) {
    const auto listed = ip(host, {"-o", "address", "show", "to", address});
    if (!listed) return fail(listed.error());
    std::istringstream from(*listed);  // "7: eth0    inet 10.0.0.2/24 ..."
    std::string number;
    std::string interface;
    if (!(from >> number >> interface))
      return fail(errc::not_found, "no interface of host " + host.name + " has the address " +
                                       address + " (cluster.hosts." + host.name + ".prefix)");
    if (std::ranges::find(all, interface) == all.end()) all.push_back(interface);
  }
  return all;
}

status set_interface(const policies::host_spec& host, const std::string& interface, bool up) {
  const auto set = ip(host, {"link", "set", "dev", interface, up ? "up" : "down"});
  return set ? status() : set.error();
}

}  // namespace tidegate::chaos
