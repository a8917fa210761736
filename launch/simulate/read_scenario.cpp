#include "launch/simulate/read_scenario.hpp"

#include <charconv>
#include <functional>
#include <map>
#include <optional>

#include "launch/config/yaml_tree.hpp"
#include "launch/simulate/standard_texts.hpp"
#include "launch/text/nearest.hpp"
#include "launch/text/scalars.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::simulate {

namespace {

using launch::nearest;
using launch::parse_duration_ms;
using launch::parse_real;
using launch::parse_unsigned;
using launch::parse_yaml;
using launch::problems;
using launch::yaml_node;
using sim::scenario;

// Reads a value; returns false if the text is not such a value.
using reader = std::function<bool(const yaml_node&)>;
struct key {
  reader read;
  std::string allowed;
};
using key_readers = std::map<std::string, key>;

std::pair<std::string, std::string> halves(const std::string& text) {
  const auto dots = text.find("..");
  if (dots == std::string::npos) return {text, text};
  return {text.substr(0, dots), text.substr(dots + 2)};
}

reader number(std::uint32_t& into, std::uint32_t low, std::uint32_t high) {
  return [&into, low, high](const yaml_node& node) {
    const auto read = parse_unsigned(node.text);
    if (!read || *read < low || *read > high) return false;
    into = static_cast<std::uint32_t>(*read);
    return true;
  };
}

template <class Number>
reader numbers(sim::range<Number>& into) {
  return [&into](const yaml_node& node) {
    const auto [low, high] = halves(node.text);
    const auto first = parse_unsigned(low);
    const auto last = parse_unsigned(high);
    if (!first || !last || *first > *last || *last > 1'000'000) return false;
    into = {static_cast<Number>(*first), static_cast<Number>(*last)};
    return true;
  };
}

std::optional<sim::nanoseconds> duration(const std::string& text) {
  if (text.size() > 2 && text.ends_with("us")) {
    const auto count = parse_unsigned(text.substr(0, text.size() - 2));
    if (!count || *count > 1'000'000'000) return std::nullopt;
    return static_cast<sim::nanoseconds>(*count) * sim::microsecond;
  }
  const auto ms = parse_duration_ms(text);
  if (!ms || *ms > 3'600'000) return std::nullopt;
  return static_cast<sim::nanoseconds>(*ms) * sim::millisecond;
}

reader duration_of(sim::nanoseconds& into) {
  return [&into](const yaml_node& node) {
    const auto read = duration(node.text);
    if (read) into = *read;
    return read.has_value();
  };
}

reader durations(sim::nanoseconds& low, sim::nanoseconds& high) {
  return [&low, &high](const yaml_node& node) {
    const auto [first, last] = halves(node.text);
    const auto from = duration(first);
    const auto to = duration(last);
    if (!from || !to || *from > *to) return false;
    low = *from;
    high = *to;
    return true;
  };
}

reader chance(double& into) {
  return [&into](const yaml_node& node) {
    const auto read = parse_real(node.text);
    if (!read || !(*read >= 0 && *read <= 1)) return false;
    into = static_cast<double>(*read);
    return true;
  };
}

// Lists of words, each read by one(word).
template <class Value>
reader words(std::vector<Value>& into,
             const std::function<std::optional<Value>(const std::string&)>& entry) {
  return [&into, entry](const yaml_node& node) {
    if (!node.is_list() || node.items.empty()) return false;
    into.clear();
    for (const auto& item : node.items) {
      const auto read = entry(item.text);
      if (!read) return false;
      into.push_back(*read);
    }
    return true;
  };
}

// "ssp(3)" with "ssp" -> 3.
std::optional<std::uint32_t> argument(const std::string& text, const std::string& name) {
  if (!text.starts_with(name + "(") || !text.ends_with(")")) return std::nullopt;
  const auto number =
      parse_unsigned(text.substr(name.size() + 1, text.size() - name.size() - 2));
  if (!number || *number > 1000) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

std::optional<policies::consistency_spec> policy(const std::string& text) {
  using policies::consistency_kind;
  if (text == "bsp") return policies::consistency_spec{consistency_kind::bsp, 0};
  if (text == "async") return policies::consistency_spec{consistency_kind::async, 0};
  const auto staleness = argument(text, "ssp");
  if (!staleness) return std::nullopt;
  return policies::consistency_spec{consistency_kind::ssp, *staleness};
}

std::optional<policies::aggregators_spec> aggregators(const std::string& text) {
  using policies::aggregators_kind;
  if (text == "none") return policies::aggregators_spec{};
  if (text == "per_host") return policies::aggregators_spec{aggregators_kind::per_host, 0};
  if (text == "per_rack") return policies::aggregators_spec{aggregators_kind::per_rack, 0};
  const auto fan_in = argument(text, "fan_in");
  if (!fan_in || *fan_in < 2 || (*fan_in & (*fan_in - 1)) != 0) return std::nullopt;
  return policies::aggregators_spec{aggregators_kind::fan_in, *fan_in};
}

std::optional<sim::worker_way> way(const std::string& text) {
  if (text == "pull_push") return sim::worker_way::pull_push;
  if (text == "overlapped") return sim::worker_way::overlapped;
  if (text == "exchange") return sim::worker_way::exchange;
  return std::nullopt;
}

std::optional<sim::role> mortal(const std::string& text) {
  if (text == "worker") return sim::role::worker;
  if (text == "shard") return sim::role::shard;
  if (text == "aggregator") return sim::role::aggregator;
  if (text == "coordinator") return sim::role::coordinator;
  if (text == "launcher") return sim::role::launcher;
  return std::nullopt;
}

// The coordinator hears of deaths and judges them by time: that goes on.
std::optional<sim::role> stalling(const std::string& text) {
  const auto whose = mortal(text);
  return whose == sim::role::coordinator ? std::nullopt : whose;
}

std::optional<sim::slow_kind> slow_kind(const std::string& text) {
  using sim::slow_kind;
  static const std::map<std::string, slow_kind> kinds{
      {"none", slow_kind::none},
      {"worker_computes", slow_kind::worker_computes},
      {"worker_link", slow_kind::worker_link},
      {"worker_stopped", slow_kind::worker_stopped},
      {"shard_link", slow_kind::shard_link},
      {"shard_busy", slow_kind::shard_busy},
      {"shard_stopped", slow_kind::shard_stopped},
      {"worker_collects", slow_kind::worker_collects},
      {"replica_link", slow_kind::replica_link},
      {"replica_stopped", slow_kind::replica_stopped},
      {"shard_disk", slow_kind::shard_disk}};
  const auto at = kinds.find(text);
  return at == kinds.end() ? std::nullopt : std::optional(at->second);
}

constexpr const char* count_rule = "a number or a range as 1..3";
constexpr const char* share_rule = "0 to 1";
constexpr const char* time_rule = "a time as 20us, 5ms, 2s";

void add_workers(scenario& into, key_readers& all) {
  all["workers.ways"] = {words<sim::worker_way>(into.ways, way),
                         "a list of pull_push, overlapped, exchange"};
  all["workers.create"] = {chance(into.created), share_rule};
  all["workers.skip"] = {chance(into.skip), share_rule};
  all["workers.slow"] = {chance(into.slow_workers), share_rule};
  all["workers.pause"] = {chance(into.pause), share_rule};
  all["workers.pause_max"] = {duration_of(into.pause_max), time_rule};
  all["workers.come_back"] = {chance(into.come_back), share_rule};
  all["workers.ranges"] = {chance(into.ranges), share_rule};
  all["workers.calls"] = {chance(into.calls), share_rule};
  all["workers.rows"] = {chance(into.rows), share_rule};
  all["workers.reductions"] = {chance(into.reductions), share_rule};
  all["workers.ahead"] = {chance(into.ahead), share_rule};
  all["workers.lifetimes"] = {chance(into.lifetimes), share_rule};
  all["workers.clip_by_norm"] = {chance(into.clips), share_rule};
  all["cluster.cancelled"] = {numbers(into.cancellations), count_rule};
  all["cluster.on_devices"] = {chance(into.on_devices), share_rule};
  all["cluster.devices_lost"] = {chance(into.devices_lost), share_rule};
  all["workers.shrink"] = {chance(into.shrink), share_rule};
  all["workers.scaled"] = {numbers(into.scalings), count_rule};
  all["slow.causes"] = {words<sim::slow_kind>(into.slow, slow_kind),
                        "a list of none, worker_computes, worker_link, worker_stopped, "
                        "shard_link, shard_busy, shard_stopped"};
  all["workers.room_for"] = {number(into.joiners, 0, 1000), "0 to 1000"};
}

void add_network(scenario& into, key_readers& all) {
  all["network.latency"] = {durations(into.faults.latency_min, into.faults.latency_max),
                            std::string(time_rule) + " or a range of two"};
  all["network.drop"] = {chance(into.faults.drop), share_rule};
  all["network.duplicate"] = {chance(into.faults.duplicate), share_rule};
  all["network.late"] = {chance(into.faults.straggle), share_rule};
  all["network.late_max"] = {duration_of(into.faults.straggle_max), time_rule};
  all["network.slow"] = {chance(into.faults.slow), share_rule};
  all["network.strangers"] = {chance(into.strangers), share_rule};
  all["network.healthy_after"] = {duration_of(into.faults_last), time_rule};
  all["partitions.count"] = {numbers(into.partitions), count_rule};
  all["partitions.last"] = {duration_of(into.partition_max), time_rule};
  all["connections.break"] = {numbers(into.breaks), count_rule};
  all["connections.last"] = {duration_of(into.break_max), time_rule};
  all["connections.one_way"] = {chance(into.one_way), share_rule};
  all["connections.silent"] = {chance(into.silent_breaks), share_rule};
  all["connections.stay"] = {chance(into.lasting_breaks), share_rule};
  all["connections.same"] = {chance(into.same_link), share_rule};
  all["control.break"] = {numbers(into.control_breaks), count_rule};
  all["control.last"] = {duration_of(into.control_break_max), time_rule};
  all["control.one_way"] = {chance(into.control_one_way), share_rule};
  all["control.stay"] = {chance(into.lasting_control_breaks), share_rule};
  all["supervision.unreachable_ms"] = {numbers(into.unreachable_ms), count_rule};
}

void add_run_folder(scenario& into, key_readers& all) {
  all["run_folder.fail_journal"] = {chance(into.fail_journal), share_rule};
  all["run_folder.fail_append"] = {chance(into.run_disk.fail_append), share_rule};
  all["run_folder.fail_sync"] = {chance(into.run_disk.fail_sync), share_rule};
  all["run_folder.fail_rename"] = {chance(into.run_disk.fail_rename), share_rule};
  all["run_folder.full"] = {numbers(into.full_disks), count_rule};
  all["run_folder.full_last"] = {duration_of(into.full_max), time_rule};
  all["run_folder.stays_full"] = {chance(into.full_stays), share_rule};
}

key_readers readers_of(scenario& into) {
  key_readers all;
  all["name"] = {[&](const yaml_node& node) {
                   into.name = node.text;
                   return !node.text.empty();
                 },
                 "text"};
  all["weight"] = {number(into.weight, 0, 1000), "0 to 1000"};
  all["ends"] = {[&](const yaml_node& node) {
                   into.may_fail = node.text == "anyhow";
                   return into.may_fail || node.text == "done";
                 },
                 "done, anyhow"};
  all["cluster.shards"] = {numbers(into.shards), count_rule};
  all["cluster.replicas"] = {number(into.replicas, 0, 2), "0, 1, 2"};
  all["cluster.max_shards"] = {numbers(into.max_shards), count_rule};
  all["cluster.scaled"] = {numbers(into.moves), count_rule};
  all["cluster.workers"] = {numbers(into.workers), count_rule};
  all["cluster.hosts"] = {numbers(into.hosts), count_rule};
  all["cluster.hosts_of_rack"] = {numbers(into.hosts_of_rack), count_rule};
  all["cluster.opened_in_turns"] = {chance(into.opened_in_turns), share_rule};
  all["cluster.jobs"] = {numbers(into.jobs), count_rule};
  all["cluster.tables"] = {numbers(into.tables), count_rule};
  all["cluster.tables_up_to"] = {number(into.tables_up_to, 0, 65'536), "0 to 65536"};
  all["cluster.chunks_up_to"] = {number(into.chunks_up_to, 0, 1'000'000), "0 to 1000000"};
  all["cluster.elements"] = {numbers(into.elements), count_rule};
  all["cluster.clocks"] = {numbers(into.clocks), count_rule};
  all["cluster.policies"] = {words<policies::consistency_spec>(into.policies, policy),
                             "a list of bsp, ssp(N), async"};
  all["cluster.aggregators"] = {
      words<policies::aggregators_spec>(into.aggregators, aggregators),
      "a list of none, per_host, per_rack, fan_in(N), N a power of two"};
  all["cluster.windows"] = {chance(into.windows), share_rule};
  add_workers(into, all);
  add_network(into, all);
  all["checkpoints.every"] = {numbers(into.checkpoints), count_rule};
  all["checkpoints.full_every"] = {numbers(into.full_every), count_rule};
  all["disk.fail_append"] = {chance(into.disk.fail_append), share_rule};
  all["disk.fail_sync"] = {chance(into.disk.fail_sync), share_rule};
  all["disk.fail_rename"] = {chance(into.disk.fail_rename), share_rule};
  all["disk.fail_read"] = {chance(into.disk.fail_read), share_rule};
  all["disk.power_fails"] = {chance(into.power_fails), share_rule};
  add_run_folder(into, all);
  all["deaths.count"] = {numbers(into.deaths), count_rule};
  all["deaths.of_shards"] = {number(into.shard_deaths_max, 0, 1000), "0 to 1000"};
  all["deaths.taken_for_dead"] = {chance(into.taken_for_dead), share_rule};
  all["deaths.within"] = {duration_of(into.deaths_within), time_rule};
  all["deaths.together"] = {chance(into.together), share_rule};
  all["deaths.together_within"] = {duration_of(into.together_within), time_rule};
  all["deaths.of"] = {words<sim::role>(into.mortal, mortal),
                      "a list of worker, shard, aggregator, coordinator, launcher"};
  all["deaths.not_started_again"] = {numbers(into.spawns_fail), count_rule};
  all["workers.spares"] = {numbers(into.spares), count_rule};
  all["workers.spares_die"] = {chance(into.spares_die), share_rule};
  all["state.kept"] = {chance(into.keeping), share_rule};
  all["state.mirror_every"] = {numbers(into.mirror_every), count_rule};
  all["state.deaths_in_commits"] = {numbers(into.commit_deaths), count_rule};
  all["hosts.faults"] = {numbers(into.host_faults), count_rule};
  all["hosts.last"] = {duration_of(into.host_fault_max), time_rule};
  all["hosts.cut_off"] = {chance(into.cut_hosts), share_rule};
  all["hosts.apart"] = {chance(into.hosts_apart), share_rule};
  all["hosts.room"] = {chance(into.small_hosts), share_rule};
  all["stalls.count"] = {numbers(into.stalls), count_rule};
  all["stalls.last"] = {duration_of(into.stall_max), time_rule};
  all["stalls.of"] = {words<sim::role>(into.stalling, stalling),
                      "a list of worker, shard, aggregator, launcher"};
  all["clocks.skew"] = {chance(into.clock_skew), share_rule};
  all["memory.no_room"] = {chance(into.no_memory), share_rule};
  all["memory.no_window"] = {chance(into.no_window), share_rule};
  return all;
}

void read(const yaml_node& map, const std::string& path, const key_readers& known,
          problems& out) {
  for (const auto& entry : map.entries) {
    const auto here = path.empty() ? entry.key : path + "." + entry.key;
    const auto at = known.find(here);
    if (at != known.end()) {
      if (!at->second.read(entry.value))
        out.add(entry.value.where,
                here + ": '" + entry.value.text + "' is wrong; allowed: " + at->second.allowed);
      continue;
    }
    const auto below = known.lower_bound(here + ".");
    if (below != known.end() && below->first.starts_with(here + ".") && entry.value.is_map()) {
      read(entry.value, here, known, out);
      continue;
    }
    std::vector<std::string> names;
    for (const auto& [name, key] : known) names.push_back(name);
    const auto near = nearest(here, names);
    out.add(entry.where, here + ": nobody reads this key" +
                             (near.empty() ? "" : "; did you mean " + near + "?"));
  }
}

}  // namespace

runtime::expected<scenario> read_scenario(const std::string& text, const std::string& source) {
  problems found;
  const auto root = parse_yaml(text, source, false, found);
  scenario result;
  result.policies.clear();
  if (found.empty()) {
    if (root.is_map())
      read(root, "", readers_of(result), found);
    else
      found.add(root.where, "a scenario is a map");
  }
  if (found.empty() && result.name.empty()) found.add(root.where, "name: is missing");
  if (found.empty() && result.policies.empty())
    found.add(root.where,
              "cluster.policies: is missing; allowed: a list of bsp, ssp(N), async");
  if (auto wrong = found.to_status(); !wrong.ok()) return runtime::fail(std::move(wrong));
  return result;
}

std::vector<scenario> all_scenarios() {
  std::vector<scenario> mix;
  for (const auto& [source, text] : standard_texts()) {
    auto entry = read_scenario(text, source);
    TIDEGATE_ASSERT(entry.has_value(), entry ? "" : entry.error().message().c_str());
    mix.push_back(std::move(*entry));
  }
  return mix;
}

std::vector<scenario> standard_mix() {
  auto mix = all_scenarios();
  std::erase_if(mix, [](const scenario& of) { return of.weight == 0; });
  return mix;
}

}  // namespace tidegate::simulate
