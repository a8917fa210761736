#include "launch/simulate/read_scale.hpp"

#include <functional>
#include <limits>

#include "launch/config/check_keys.hpp"
#include "launch/config/section.hpp"
#include "launch/simulate/keys.hpp"
#include "launch/simulate/units.hpp"
#include "launch/text/scalars.hpp"

namespace tidegate::simulate {

namespace {

using launch::section;
using launch::yaml_node;
using sim::scale::compute_spec;

constexpr double seconds_max = 3600;
constexpr std::uint64_t parameters_max = std::uint64_t{1} << 40;
constexpr std::uint64_t combinations_max = 1000;
constexpr std::pair<std::string_view, bool> truths[] = {{"true", true}, {"false", false}};

void seconds(const section& from, std::string_view key, double& into) {
  std::string text;
  const auto is_allowed = [](std::string_view t) {
    const auto value = parse_seconds(t);
    return value && *value <= seconds_max;
  };
  if (from.text(key, text, is_allowed)) into = *parse_seconds(text);
}

void rate(const section& from, std::string_view key, double& into) {
  std::string text;
  if (from.text(key, text, [](std::string_view t) { return parse_rate(t).has_value(); }))
    into = *parse_rate(text);
}

bool real(const section& from, std::string_view key, double& into, double least, double most) {
  float value = 0;
  if (!from.real(key, value, [&](float x) { return x >= least && x <= most; })) return false;
  into = value;
  return true;
}

void count(const section& from, std::string_view key, std::uint32_t& into, std::uint32_t most) {
  std::uint64_t value = into;
  from.number(key, value, 1, most);
  into = static_cast<std::uint32_t>(value);
}

// The items of a list, or the one value that stands in its place. read(item) is false for an
// item that is not allowed.
void each(const section& from, std::string_view key,
          const std::function<bool(const yaml_node&)>& read) {
  const auto* value = from.get(key);
  if (value == nullptr) return;
  const auto entry = [&](const yaml_node& item) {
    if (read(item)) return;
    const auto subject = item.is_scalar() ? "'" + item.text + "'" : std::string(describe(item));
    const auto& known = launch::key_of(launch::join_path(from.pattern(), key), scale_keys());
    from.note(item.where, launch::join_path(from.shown(), key) + ": " + subject +
                              " is not allowed; allowed: " + std::string(known.allowed));
  };
  if (!value->is_list()) return entry(*value);
  if (value->items.empty()) from.wrong(key, "is empty");
  for (const auto& item : value->items) entry(item);
}

void numbers(const section& from, std::string_view key, std::vector<std::uint64_t>& into,
             std::uint64_t most) {
  if (from.get(key) != nullptr) into.clear();
  each(from, key, [&](const yaml_node& item) {
    const auto n = item.is_scalar() ? launch::parse_unsigned(item.text) : std::nullopt;
    if (!n || *n < 1 || *n > most) return false;
    into.push_back(*n);
    return true;
  });
}

// The number of {name: number}; nothing when it is something else.
std::optional<std::uint64_t> number_of(const yaml_node& item, std::string_view name) {
  if (!item.is_map() || item.entries.size() != 1 || item.entries[0].key != name)
    return std::nullopt;
  const auto& value = item.entries[0].value;
  return value.is_scalar() ? launch::parse_unsigned(value.text) : std::nullopt;
}

bool read_policy(const yaml_node& item, std::vector<policies::consistency_spec>& into) {
  using policies::consistency_kind;
  constexpr std::uint64_t staleness_max = 1'000'000;
  if (item.is_scalar() && item.text == "bsp") {
    into.push_back({consistency_kind::bsp, 0});
  } else if (item.is_scalar() && item.text == "async") {
    into.push_back({consistency_kind::async, 0});
  } else {
    const auto staleness = number_of(item, "ssp");
    if (!staleness || *staleness > staleness_max) return false;
    into.push_back({consistency_kind::ssp, static_cast<std::uint32_t>(*staleness)});
  }
  return true;
}

bool read_aggregators(const yaml_node& item, std::vector<policies::aggregators_spec>& into) {
  using policies::aggregators_kind;
  constexpr std::uint64_t fan_in_max = 1024;
  if (item.is_scalar() && item.text == "none") {
    into.push_back({aggregators_kind::none, 0});
  } else if (item.is_scalar() && item.text == "per_host") {
    into.push_back({aggregators_kind::per_host, 0});
  } else {
    const auto fan_in = number_of(item, "fan_in");
    if (!fan_in || *fan_in < 2 || *fan_in > fan_in_max || (*fan_in & (*fan_in - 1)) != 0)
      return false;
    into.push_back({aggregators_kind::fan_in, static_cast<std::uint32_t>(*fan_in)});
  }
  return true;
}

void read_compute(const section& from, compute_spec& into) {
  constexpr double least = 1e-6;
  seconds(from, "time", into.mean);
  if (real(from, "lognormal", into.spread, least, 3))
    into.shape = compute_spec::kind::lognormal;
  if (from.get("exponential") != nullptr && from.get("lognormal") != nullptr)
    from.wrong("exponential", "does not go with lognormal");
  if (real(from, "exponential", into.spread, least, 1))
    into.shape = compute_spec::kind::exponential;
  const auto slow = from.child("slow");
  real(slow, "fraction", into.slow_fraction, 0, 1);
  real(slow, "factor", into.slow_factor, 1, 1000);
  const auto pauses = from.child("pauses");
  real(pauses, "chance", into.pause_chance, 0, 1);
  seconds(pauses, "time", into.pause_seconds);
}

void read_machines(const section& from, sim::scale::setting& into) {
  constexpr std::uint32_t per_host_max = 1024;
  const auto hosts = from.child("hosts");
  count(hosts, "workers", into.workers_per_host, per_host_max);
  count(hosts, "shards", into.shards_per_host, per_host_max);
  rate(hosts, "link", into.link_rate);
  seconds(hosts, "latency", into.latency);
  seconds(hosts, "ring_latency", into.ring_latency);
  rate(hosts, "memory", into.memory_rate);
  const auto shard = from.child("shard");
  rate(shard, "sum", into.sum_rate);
  rate(shard, "step", into.step_rate);
  seconds(shard, "frame", into.seconds_per_frame);
}

void read_plan(const section& from, scale_plan& into) {
  constexpr std::uint64_t workers_max = 100'000, shards_max = 10'000, clocks_max = 1'000'000;
  constexpr std::uint64_t chunk_bytes_max = 64 << 20;
  from.require("workers");
  numbers(from, "workers", into.workers, workers_max);
  numbers(from, "shards", into.shards, shards_max);
  if (from.get("policies") != nullptr) into.policies.clear();
  each(from, "policies",
       [&](const yaml_node& item) { return read_policy(item, into.policies); });
  if (from.get("aggregators") != nullptr) into.aggregators.clear();
  each(from, "aggregators",
       [&](const yaml_node& item) { return read_aggregators(item, into.aggregators); });
  auto& common = into.common;
  from.number("clocks", common.clocks, 1, clocks_max);
  from.number("seed", common.seed, 0, std::numeric_limits<std::uint64_t>::max());
  from.bytes("parameters", common.bytes, 64, parameters_max, 4);
  from.bytes("chunk_bytes", common.chunk_bytes, 64, chunk_bytes_max, 64);
  from.choice<bool>("one_host", common.one_host, truths);
  read_compute(from.child("compute"), common.compute);
  read_machines(from, common);
}

// What only holds or fails for the whole.
void cross_check(const section& from, const scale_plan& plan) {
  for (const auto workers : plan.workers)
    if (workers * plan.common.clocks > worker_clocks_max)
      from.wrong("clocks", std::to_string(plan.common.clocks) + " of " +
                               std::to_string(workers) + " workers are too many");
  const auto& common = plan.common;
  const bool sends = !common.one_host && common.link_rate > 0;
  if (common.compute.mean == 0 && common.sum_rate == 0 && common.step_rate == 0 && !sends)
    from.child("compute").wrong("time", "0, and neither sums nor links take time");
  const auto combinations =
      plan.workers.size() * plan.shards.size() * plan.policies.size() * plan.aggregators.size();
  if (combinations > combinations_max)
    from.note(from.where(), "scale: makes " + std::to_string(combinations) +
                                " combinations; allowed: at most " +
                                std::to_string(combinations_max));
}

}  // namespace

std::vector<sim::scale::setting> scale_plan::settings() const {
  std::vector<sim::scale::setting> settings;
  for (const auto shard_count : shards)
    for (const auto& summed : aggregators)
      for (const auto& policy : policies)
        for (const auto worker_count : workers) {
          auto& worker = settings.emplace_back(common);
          worker.shards = static_cast<std::uint32_t>(shard_count);
          worker.aggregators = summed;
          worker.consistency = policy;
          worker.workers = static_cast<std::uint32_t>(worker_count);
        }
  return settings;
}

runtime::expected<scale_plan> parse_scale(const std::string& yaml,
                                          const std::string& file_name) {
  launch::problems out;
  const auto tree = launch::parse_yaml(yaml, file_name, false, out);
  if (!out.empty()) return runtime::fail(out.to_status());
  if (!tree.is_map()) {
    out.add(tree.where, "the file is no map; allowed: a map with the key scale");
    return runtime::fail(out.to_status());
  }
  launch::check_keys(tree, out, scale_keys());
  const section root(&tree, tree.where, "", "", out, scale_keys());
  scale_plan plan;
  root.require("scale");
  const auto scale = root.child("scale");
  if (scale.node() != nullptr) read_plan(scale, plan);
  if (out.empty()) cross_check(scale, plan);
  if (!out.empty()) return runtime::fail(out.to_status());
  return plan;
}

std::string to_string(const policies::aggregators_spec& spec) {
  switch (spec.kind) {
    case policies::aggregators_kind::none:
      return "none";
    case policies::aggregators_kind::per_host:
      return "per_host";
    case policies::aggregators_kind::per_rack:
      return "per_rack";
    case policies::aggregators_kind::fan_in:
      return "fan_in(" + std::to_string(spec.fan_in) + ")";
  }
  return "unknown";
}

}  // namespace tidegate::simulate
