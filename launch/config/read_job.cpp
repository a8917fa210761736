#include "launch/config/read_job.hpp"

#include <bit>
#include <limits>

#include "launch/config/read_hosts.hpp"
#include "launch/config/read_table.hpp"
#include "launch/config/words.hpp"
#include "launch/config/yaml_keys.hpp"
#include "launch/text/scalars.hpp"
#include "policies/checkpoint/manifest.hpp"
#include "policies/model/state_image.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/object_place.hpp"

namespace tidegate::launch {

namespace {

constexpr std::uint64_t staleness_max = 1'000'000;

void read_command(const section& from, std::vector<std::string>& into) {
  if (!from.require("command")) return;
  const auto& value = *from.get("command");
  if (value.is_scalar() && !value.text.empty()) {
    into = {value.text};
    return;
  }
  read_words(from, "command", into);
}

bool is_variable_name(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!letter && !(c >= '0' && c <= '9')) return false;
  }
  return true;
}

void read_env(const section& from, std::map<std::string, std::string>& into) {
  if (from.node() == nullptr) return;
  const std::string allowed(key_of("jobs.*.env.*").allowed);
  for (const auto& e : from.node()->entries) {
    const auto path = from.shown() + "." + e.key;
    if (!is_variable_name(e.key)) {
      from.note(e.where,
                path + ": no name of an environment variable; allowed: letters, digits, _");
    } else if (e.key.starts_with("TIDEGATE_")) {
      from.note(e.where, path + ": is set by tidegate; allowed: " + allowed);
    } else if (!e.value.is_scalar() || e.value.text.find('\0') != std::string::npos) {
      from.note(e.value.where,
                path + ": is " + std::string(describe(e.value)) + "; allowed: " + allowed);
    } else {
      into[e.key] = e.value.text;
    }
  }
}

void read_consistency(const section& from, policies::consistency_spec& into) {
  using kind = policies::consistency_kind;
  const auto* policy = from.get("policy");
  const auto* staleness = from.get("staleness");
  if (policy != nullptr && !from.choice<kind>("policy", into.kind, policy_words)) return;
  const bool policy_set = policy != nullptr && policy->where.from_set();
  if (into.kind == kind::ssp) {
    std::uint64_t clocks = 0;
    if (staleness == nullptr) {
      from.wrong("staleness", policy_set
                                  ? "is missing; add --set " + from.shown() + ".staleness=3"
                                  : std::string("is missing, and ssp needs it"));
    } else if (from.number("staleness", clocks, 0, staleness_max)) {
      into.staleness = static_cast<std::uint32_t>(clocks);
    }
    return;
  }
  // The file's staleness goes with the file's ssp when --set chooses another policy.
  if (staleness == nullptr || (policy_set && !staleness->where.from_set())) return;
  from.wrong("staleness",
             "has no meaning with policy " + std::string(word(policy_words, into.kind)));
}

void read_aggregators(const section& from, policies::aggregators_spec& into) {
  using kind = policies::aggregators_kind;
  const auto* value = from.get("aggregators");
  if (value == nullptr) return;
  if (!value->is_map()) {
    from.choice<kind>("aggregators", into.kind, aggregators_words);
    return;
  }
  const auto tree = from.child("aggregators");
  std::uint64_t fan_in = 0;
  if (tree.get("fan_in") == nullptr) {
    from.wrong("aggregators", "is a map without fan_in");
  } else if (tree.number("fan_in", fan_in, 2, runtime::limits::workers_max)) {
    if (!std::has_single_bit(fan_in))
      tree.wrong("fan_in", std::to_string(fan_in) + " is not valid");
    into = {kind::fan_in, static_cast<std::uint32_t>(fan_in)};
  }
}

// "500 clocks" or "30s".
void read_checkpoint(const section& from, std::optional<policies::checkpoint_spec>& into) {
  if (from.node() == nullptr) return;
  constexpr std::uint64_t day_ms = 24ULL * 60 * 60 * 1000;
  policies::checkpoint_spec options;
  std::uint64_t keep = options.keep;
  from.number("keep", keep, 1, 1000);
  options.keep = static_cast<std::uint32_t>(keep);
  std::uint64_t full_every = options.full_every;
  from.number("full_every", full_every, 1, policies::checkpoint_chain_max);
  options.full_every = static_cast<std::uint32_t>(full_every);
  const auto is_place = [](std::string_view path) {
    return path.starts_with('/') || runtime::parse_object_place(path);
  };
  from.text("path", options.path, is_place);
  while (options.path.size() > 1 && options.path.ends_with('/')) options.path.pop_back();
  if (!from.require("every")) return;
  const auto& value = *from.get("every");
  if (!value.is_scalar()) return from.wrong("every", "is " + std::string(describe(value)));
  constexpr std::string_view unit = " clocks";
  const auto& text = value.text;
  if (text.ends_with(unit)) {
    const auto clocks = parse_unsigned(text.substr(0, text.size() - unit.size()));
    if (!clocks || *clocks == 0) return from.wrong("every", "'" + text + "' is not valid");
    options.every_clocks = *clocks;
  } else {
    const auto ms = parse_duration_ms(text);
    if (!ms || *ms == 0 || *ms > day_ms)
      return from.wrong("every", "'" + text + "' is not valid");
    options.every_ms = *ms;
  }
  into = options;
}

void read_state(const section& from, policies::job_spec& job) {
  const auto* value = from.get("max");
  std::uint64_t most = 0;
  const bool none = value != nullptr && value->is_scalar() && value->text == "0";
  if (none || from.bytes("max", most, policies::state_bytes_min, policies::state_bytes_max, 8))
    job.state_bytes = most;
  from.number("mirror_every", job.state_mirror_every, 0, policies::state_mirror_every_max);
  if (job.state_mirror_every > 0 && job.state_bytes_max() > policies::mirrored_state_bytes_max)
    from.note(from.get("mirror_every")->where,
              from.shown() + ".mirror_every: a version that is copied has at most " +
                  format_bytes(policies::mirrored_state_bytes_max) +
                  ", and `max` allows more; allowed: 0, or a smaller `max`");
}

void read_spares(const section& from, policies::job_spec& job) {
  std::uint64_t spares = 0;
  if (!from.number("spares", spares, 0, policies::spares_max)) return;
  job.spares = static_cast<std::uint32_t>(spares);
  if (spares > 0 && job.on_worker_loss != policies::worker_loss_rule::restart)
    from.note(
        from.get("spares")->where,
        from.shown() + ".spares: no process takes the place of a worker that dies with " +
            "`on_worker_loss: " + std::string(word(worker_loss_words, job.on_worker_loss)) +
            "`; allowed: 0, or `on_worker_loss: restart`");
}

// The gradient that is measured is that of a clock of all workers, as shards have it.
void read_gradients(const section& from, policies::job_spec& job) {
  const auto gradients = from.child("gradients");
  gradients.choice<policies::not_finite_rule>("not_finite", job.not_finite, not_finite_words);
  gradients.real("clip_norm", job.clip_norm, policies::is_finite_not_negative);
  if (job.clip_norm > 0 && job.consistency.kind != policies::consistency_kind::bsp)
    from.note(
        gradients.get("clip_norm")->where,
        gradients.shown() + ".clip_norm: under `consistency: " +
            std::string(policies::traits_of(job.consistency.kind).name) +
            "` no clock has one gradient of all workers; allowed: 0, or `consistency: bsp`");
}

}  // namespace

policies::job_spec read_job(const section& from, const std::string& name) {
  policies::job_spec job;
  job.name = name;
  std::uint64_t workers = job.workers;
  from.number("workers", workers, 1, runtime::limits::workers_max);
  job.workers = static_cast<std::uint32_t>(workers);
  std::uint64_t room = workers;
  from.number("max_workers", room, workers, runtime::limits::workers_max);
  job.max_workers = static_cast<std::uint32_t>(room);
  job.hosts = read_host_names(from, "hosts");
  read_command(from, job.command);
  if (from.get("stage") != nullptr) read_words(from, "stage", job.stage);
  read_env(from.child("env"), job.env);
  read_consistency(from.child("consistency"), job.consistency);
  job.optimizer = read_optimizer(from, {});
  from.choice<policies::worker_loss_rule>("on_worker_loss", job.on_worker_loss,
                                          worker_loss_words);
  read_spares(from, job);
  read_checkpoint(from.child("checkpoint"), job.checkpoint);
  from.choice<policies::reduce_kind>("reduce", job.reduce, reduce_words);
  read_aggregators(from, job.aggregators);
  read_gradients(from, job);
  read_state(from.child("state"), job);
  from.number("seed", job.seed, 0, std::numeric_limits<std::uint64_t>::max());
  job.tables = read_tables(from.child("tables"), job);
  return job;
}

}  // namespace tidegate::launch
