#include "launch/config/read_hosts.hpp"

#include <algorithm>

#include "launch/config/words.hpp"
#include "launch/config/yaml_keys.hpp"
#include "launch/text/nearest.hpp"
#include "policies/placement/hosts.hpp"

namespace tidegate::launch {

namespace {

constexpr std::uint64_t room_max = 65'536;

bool is_host_name(std::string_view text) {
  constexpr std::size_t address_bytes_max = 255;
  return !text.empty() && text.size() <= address_bytes_max &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

std::vector<std::string> names_of(const policies::cluster_spec& spec) {
  std::vector<std::string> names;
  for (const auto& host : spec.hosts) names.push_back(host.name);
  return names;
}

// Neither is an option of ssh.
bool is_destination(std::string_view text) {
  return is_host_name(text) && text.front() != '-' && !text.ends_with('@');
}

// One, or several in other networks.
void read_address(const section& entry, policies::host_spec& host) {
  const auto* value = entry.get("address");
  if (value == nullptr || !value->is_list()) {
    entry.text("address", host.address, is_host_name);
    return;
  }
  std::vector<std::string> all;
  if (!read_words(entry, "address", all)) return;
  for (const auto& address : all)
    if (!is_host_name(address) || std::ranges::count(all, address) > 1) {
      entry.wrong("address", "has '" + address + "'" +
                                 (is_host_name(address) ? " twice" : ", which is no address"));
      return;
    }
  if (all.size() > policies::host_addresses_max) {
    entry.wrong("address", "has more than " + std::to_string(policies::host_addresses_max));
    return;
  }
  host.address = all.front();
  host.rails.assign(all.begin() + 1, all.end());
}

void read_ssh(const section& entry, policies::host_spec& host) {
  entry.text("ssh", host.ssh, is_destination);
  for (const auto* key : {"port", "key", "program"})
    if (entry.get(key) != nullptr && entry.get("ssh") == nullptr)
      entry.wrong(key, "is of no use without ssh");
  std::uint64_t port = host.ssh_port;
  if (entry.number("port", port, 1, 65'535)) host.ssh_port = static_cast<std::uint16_t>(port);
  const auto is_path = [](std::string_view text) { return !text.empty(); };
  entry.text("key", host.ssh_key, is_path);
  entry.text("program", host.program, is_path);
  if (host.ssh.empty()) return;
  if (!host.prefix.empty()) entry.wrong("ssh", "goes with no prefix");
  if (host.address.empty()) host.address = host.ssh.substr(host.ssh.find('@') + 1);
}

void check_name(const section& from, const place& where, const std::string& shown,
                const std::string& name, const policies::cluster_spec& spec) {
  if (policies::find_host(spec, name) != nullptr) return;
  const auto known = names_of(spec);
  const auto near = nearest(name, known);
  from.note(where, shown + ": '" + name + "' is no host" +
                       (near.empty() ? "" : "; did you mean '" + near + "'?") +
                       (known.empty() ? "; allowed: names in cluster.hosts, which has none"
                                      : "; allowed: " + join(known)));
}

void check_names(const section& from, std::string_view key, const std::string& shown,
                 const std::vector<std::string>& names, const policies::cluster_spec& spec) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto& where = from.get(key)->items[i].where;
    check_name(from, where, shown, names[i], spec);
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i))
      from.note(where, shown + ": '" + names[i] + "' is there twice; allowed: once");
  }
}

}  // namespace

bool read_words(const section& from, std::string_view key, std::vector<std::string>& into) {
  const auto& value = *from.get(key);
  if (!value.is_list() || value.items.empty()) {
    const bool empty = value.is_list() || (value.is_scalar() && value.text.empty());
    from.wrong(key, empty ? "is empty" : "is " + std::string(describe(value)));
    return false;
  }
  for (const auto& item : value.items) {
    // An argument may be empty, a program may not; neither can carry a zero byte to exec.
    if (!item.is_scalar() || (into.empty() && item.text.empty()) ||
        item.text.find('\0') != std::string::npos) {
      from.note(item.where,
                join_path(from.shown(), key) + ": " +
                    (item.is_scalar() ? "empty or not text" : std::string(describe(item))) +
                    " in the list; allowed: " +
                    std::string(key_of(join_path(from.pattern(), key)).allowed));
      return false;
    }
    into.push_back(item.text);
  }
  return true;
}

std::vector<std::string> read_host_names(const section& from, std::string_view key) {
  std::vector<std::string> names;
  if (from.get(key) != nullptr && !read_words(from, key, names)) names.clear();
  return names;
}

void read_hosts(const section& cluster, policies::cluster_spec& into) {
  cluster.choice<policies::engine_kind>("engine", into.engine, engine_words);
  cluster.text("engine_program", into.engine_program,
               [](std::string_view text) { return !text.empty(); });
  const bool has_engine = into.engine != policies::engine_kind::local;
  if (!into.engine_program.empty() && !has_engine)
    cluster.wrong("engine_program", "is of no use without an engine");
  const auto hosts = cluster.child("hosts");
  const std::string allowed(key_of("cluster.hosts.*").allowed);
  if (hosts.node() != nullptr)
    for (const auto& e : hosts.node()->entries) {
      const auto shown = "cluster.hosts." + e.key;
      if (!is_plain_name(e.key))
        cluster.note(e.where, "'" + e.key + "' is no host name; allowed: " + allowed);
      auto& host = into.hosts.emplace_back();
      host.name = e.key;
      if (e.value.is_null()) continue;
      if (!e.value.is_map()) {
        cluster.note(e.value.where, shown + ": is " + std::string(describe(e.value)) +
                                        "; allowed: " + allowed);
        continue;
      }
      const section entry(&e.value, e.where, "cluster.hosts.*", shown, cluster.out());
      read_address(entry, host);
      const auto* prefix = entry.get("prefix");
      if (prefix != nullptr && !(prefix->is_list() && prefix->items.empty()))
        read_words(entry, "prefix", host.prefix);
      read_ssh(entry, host);
      if (has_engine && policies::has_agent(host))
        entry.note(e.where, shown +
                                ": has an ssh or a prefix, and cluster.engine starts all "
                                "agents; allowed: address, rack and room");
      entry.text("rack", host.rack, is_plain_name);
      if (entry.get("room") != nullptr) {
        std::uint64_t room = 0;
        if (entry.number("room", room, 0, room_max))
          host.room = static_cast<std::uint32_t>(room);
      }
    }
  cluster.text("coordinator_host", into.coordinator_host, is_plain_name);
  into.shard_hosts = read_host_names(cluster, "shard_hosts");
  // With an engine the launcher's host is the coordinator's, which nobody knows yet.
  const auto* home = has_engine ? nullptr : policies::host_of_coordinator(into);
  if (home != nullptr && !home->address.empty()) into.control_host = home->address;
}

void check_hosts(const section& root, const policies::cluster_spec& spec) {
  const auto cluster = root.child("cluster");
  if (!spec.coordinator_host.empty())
    check_name(cluster, cluster.get("coordinator_host")->where, "cluster.coordinator_host",
               spec.coordinator_host, spec);
  check_names(cluster, "shard_hosts", "cluster.shard_hosts", spec.shard_hosts, spec);
  const auto jobs = root.child("jobs");
  for (const auto& job : spec.jobs)
    check_names(jobs.child(job.name), "hosts", "jobs." + job.name + ".hosts", job.hosts, spec);
  const auto has_rack = [](const policies::host_spec& host) { return !host.rack.empty(); };
  if (std::ranges::none_of(spec.hosts, has_rack))
    for (const auto& job : spec.jobs)
      if (job.aggregators.kind == policies::aggregators_kind::per_rack)
        jobs.note(jobs.child(job.name).get("aggregators")->where,
                  "jobs." + job.name +
                      ".aggregators: is per_rack, and no host has a rack "
                      "(cluster.hosts.*.rack); allowed: " +
                      std::string(key_of("jobs.*.aggregators").allowed));
  if (spec.engine == policies::engine_kind::mpi && spec.hosts.empty())
    cluster.wrong("engine", "mpi needs the hosts by name (cluster.hosts)");
  if (spec.hosts.size() < 2 || spec.engine != policies::engine_kind::local) return;
  for (const auto& host : spec.hosts)
    if (host.address.empty())
      cluster.note(cluster.get("hosts")->find(host.name)->where,
                   "cluster.hosts." + host.name +
                       ": has no address, and with several hosts each needs one; allowed: " +
                       std::string(key_of("cluster.hosts.*.address").allowed));
  if (spec.transport == policies::transport_kind::shm)
    cluster.wrong("transport", "shm reaches no other host, and the cluster has " +
                                   std::to_string(spec.hosts.size()));
}

}  // namespace tidegate::launch
