#include "launch/config/read_faults.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "launch/config/fault_words.hpp"
#include "launch/config/yaml_keys.hpp"
#include "launch/text/nearest.hpp"
#include "policies/placement/process_names.hpp"

namespace tidegate::launch {

namespace {

constexpr std::uint64_t delay_ms_max = 10'000;
constexpr std::uint64_t disk_delay_ms_max = 60'000;

void read_link(const section& from, policies::link_fault_spec& into) {
  const auto is_share = [](float value) { return value >= 0 && value <= 1; };
  from.real("drop", into.drop, is_share);
  from.real("duplicate", into.duplicate, is_share);
  from.real("delay", into.delay, is_share);
  std::uint64_t ms = into.delay_ms_max;
  from.duration_ms("delay_up_to", ms, 1, delay_ms_max);
  into.delay_ms_max = static_cast<std::uint32_t>(ms);
}

// The texts of a list; a text is a list of one. Empty: it is something else.
std::vector<std::string> texts(const yaml_node& value) {
  if (value.is_scalar()) return {value.text};
  std::vector<std::string> found;
  for (const auto& item : value.items) {
    if (!item.is_scalar()) return {};
    found.push_back(item.text);
  }
  return found;
}

// Parses each text of a key that has a list, or notes what is wrong with it.
template <class T, class Parse>
void read_list(const section& from, std::string_view key, std::vector<T>& into,
               const Parse& parse) {
  const auto* value = from.get(key);
  if (value == nullptr) return;
  const auto words = texts(*value);
  if (words.empty()) return from.wrong(key, "is " + std::string(describe(*value)));
  into.clear();
  for (const auto& word : words) {
    const auto entry = parse(word);
    if (!entry) return from.wrong(key, "'" + word + "' is not valid");
    into.push_back(*entry);
  }
}

// Those that can be cut off.
std::vector<std::string> hosts_with_address(const policies::cluster_spec& spec) {
  std::vector<std::string> names;
  for (const auto& host : spec.hosts)
    if (!host.address.empty()) names.push_back(host.name);
  return names;
}

std::vector<std::string> process_names(const policies::cluster_spec& spec) {
  std::vector<std::string> names;
  for (const auto& name : policies::process_names_of(spec)) names.push_back(name.to_string());
  return names;
}

policies::chaos_plan read_random(const section& from, const policies::cluster_spec& into) {
  policies::chaos_plan plan;
  plan.hosts = hosts_with_address(into);
  if (const auto* every = from.get("every")) {
    const auto pause = every->is_scalar() ? parse_pause(every->text) : std::nullopt;
    if (!pause) from.wrong("every", "is not valid");
    if (pause) std::tie(plan.pause_first_ms, plan.pause_last_ms) = *pause;
  }
  read_list(from, "roles", plan.roles,
            [](const std::string& word) { return policies::role_of(word); });
  read_list(from, "actions", plan.actions, [&](const std::string& word) {
    const auto choice = parse_drawn_action(word);
    return choice && choice->hits_host() && plan.hosts.empty() ? std::nullopt : choice;
  });
  from.number("count", plan.hits_max, 1, fault_hits_max);
  from.duration_ms("for", plan.for_ms, 1, fault_ms_max);
  return plan;
}

// With the workers that jobs have when they are scaled up.
std::vector<std::string> all_process_names(policies::cluster_spec spec) {
  for (auto& job : spec.jobs) job.workers = job.capacity();
  return process_names(spec);
}

void read_slow(const section& from, policies::cluster_spec& into) {
  if (from.node() == nullptr) return;
  const auto names = all_process_names(into);
  for (const auto& entry : from.node()->entries) {
    const section child(&entry.value, entry.value.where, from.pattern() + ".*",
                        join_path(from.shown(), entry.key), from.out());
    if (!entry.value.is_map()) {
      child.note(child.where(), child.shown() + " is " + std::string(describe(entry.value)) +
                                    "; allowed: a map");
      continue;
    }
    policies::slow_fault fault;
    fault.process = entry.key;
    child.real("factor", fault.factor, [](float value) { return value >= 1 && value <= 1000; });
    child.number("from", fault.from, 0, ~std::uint64_t{0});
    std::uint64_t until = 0;
    if (child.number("until", until, fault.from + 1, ~std::uint64_t{0})) fault.until = until;
    std::uint64_t delay = 0;
    child.duration_ms("link_delay", delay, 0, delay_ms_max);
    fault.link_delay_ms = static_cast<std::uint32_t>(delay);
    std::uint64_t disk_delay = 0;
    child.duration_ms("disk_delay", disk_delay, 0, disk_delay_ms_max);
    fault.disk_delay_ms = static_cast<std::uint32_t>(disk_delay);
    const auto near = nearest(entry.key, names);
    if (std::find(names.begin(), names.end(), entry.key) == names.end())
      child.note(child.where(), child.shown() + ": there is no process " + entry.key +
                                    (near.empty() ? "" : "; did you mean " + near + "?"));
    else if (fault.factor > 1 && !entry.key.starts_with("worker-"))
      child.wrong("factor", "is of a process that is no worker");
    else if (fault.link_delay_ms > 0 && entry.key.starts_with("coordinator-"))
      child.wrong("link_delay", "is of the coordinator, which sends no payload");
    else if (fault.disk_delay_ms > 0 && !entry.key.starts_with("shard-") &&
             !entry.key.starts_with("replica-"))
      child.wrong("disk_delay", "is of a process that writes no checkpoints");
    else
      into.faults.slow.push_back(std::move(fault));
  }
}

void read_timed(const section& from, policies::cluster_spec& into) {
  if (from.node() == nullptr) return;
  const auto names = process_names(into);
  const auto hosts = hosts_with_address(into);
  for (const auto& entry : from.node()->entries) {
    const auto wrong = [&](const std::string& subject) {
      from.note(entry.value.where,
                join_path(from.shown(), entry.key) + ": " + subject +
                    "; allowed: " + std::string(key_of("faults.at.*").allowed));
    };
    const auto words = texts(entry.value);
    if (words.empty()) wrong("is " + std::string(describe(entry.value)));
    for (const auto& word : words) {
      const auto fault = parse_timed_fault(entry.key, word);
      if (!fault) {
        wrong("'" + entry.key + ": " + word + "' is not valid");
        continue;
      }
      const auto& known = fault->choice.hits_host() ? hosts : names;
      const bool is_there = fault->target.empty() ||
                            std::find(known.begin(), known.end(), fault->target) != known.end();
      const auto near = is_there ? "" : nearest(fault->target, known);
      if (!is_there)
        wrong(std::string("there is no ") +
              (fault->choice.hits_host() ? "host with an address " : "process ") +
              fault->target + (near.empty() ? "" : "; did you mean " + near + "?"));
      else
        into.faults.timed.push_back(*fault);
    }
  }
}

}  // namespace

void read_faults(const section& from, policies::cluster_spec& into) {
  if (from.node() == nullptr) return;
  from.number("seed", into.faults.seed, 0, ~std::uint64_t{0});
  read_link(from.child("link"), into.faults.link);
  read_slow(from.child("slow"), into);
  if (from.get("random") != nullptr)
    into.faults.random = read_random(from.child("random"), into);
  read_timed(from.child("at"), into);
}

}  // namespace tidegate::launch
