#include "launch/config/write_yaml.hpp"

#include <nlohmann/json.hpp>

#include "launch/config/fault_words.hpp"
#include "launch/config/read_otlp.hpp"
#include "launch/config/read_supervision.hpp"
#include "launch/config/words.hpp"
#include "launch/text/endpoint.hpp"
#include "launch/text/scalars.hpp"
#include "policies/model/row_rules.hpp"
#include "policies/placement/hosts.hpp"

namespace tidegate::launch {

namespace {

// JSON strings are YAML's double-quoted ones.
std::string quote(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string list_text(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + quote(word);
  return "[" + text + "]";
}

std::string host_text(const policies::host_spec& host) {
  std::string text = "    " + quote(host.name) + ": {";
  if (!host.rails.empty())
    text += "address: " + list_text(policies::addresses_of(host)) + ", ";
  else if (!host.address.empty())
    text += "address: " + quote(host.address) + ", ";
  if (!host.ssh.empty()) {
    text += "ssh: " + quote(host.ssh) + ", ";
    if (host.ssh_port != 0) text += "port: " + std::to_string(host.ssh_port) + ", ";
    if (!host.ssh_key.empty()) text += "key: " + quote(host.ssh_key) + ", ";
    if (!host.program.empty()) text += "program: " + quote(host.program) + ", ";
  }
  if (!host.rack.empty()) text += "rack: " + quote(host.rack) + ", ";
  if (host.room) text += "room: " + std::to_string(*host.room) + ", ";
  return text + "prefix: " + list_text(host.prefix) + "}\n";
}

std::string engine_text(const policies::cluster_spec& spec) {
  if (spec.engine == policies::engine_kind::local) return {};
  auto text = "  engine: " + std::string(word(engine_words, spec.engine)) + "\n";
  if (!spec.engine_program.empty())
    text += "  engine_program: " + quote(spec.engine_program) + "\n";
  return text;
}

std::string schedule_text(const runtime::rate_schedule& s) {
  std::string text = "{kind: " + std::string(word(schedule_words, s.kind)) +
                     ", warmup: " + std::to_string(s.warmup);
  if (s.kind != runtime::schedule_kind::constant)
    text += ", clocks: " + std::to_string(s.clocks) + ", factor: " + format_real(s.factor);
  return text + "}";
}

// Those of plugins have a colon.
std::string optimizer_word(const std::string& word) {
  return runtime::rule_of_word(word) ? quote(word) : word;
}

std::string optimizer_text(const policies::optimizer_spec& o) {
  std::string text = "{name: " + optimizer_word(runtime::name_of(o));
  for (const auto& rule : policies::optimizer_rules)
    if (rule.belongs_to(o.kind))
      text += ", " + std::string(rule.name) + ": " + format_real(o.*rule.value);
  // A reader takes what is not there from the job.
  if (runtime::contains(runtime::traits_of(o.kind).options,
                        runtime::optimizer_option::schedule))
    text += ", schedule: " + schedule_text(o.schedule);
  if (o.reduce != runtime::reduction::of_job)
    text += ", reduce: " + optimizer_word(runtime::reduction_of(o));
  if (o.kind == policies::optimizer_kind::plugin)
    text += ", states: " + std::to_string(o.rule_states);
  return text + ", lazy: " + (o.lazy ? "true" : "false") + "}";
}

std::string consistency_text(const policies::consistency_spec& c) {
  std::string text = "{policy: " + std::string(word(policy_words, c.kind));
  if (policies::traits_of(c.kind).has_staleness) {
    text += ", staleness: " + std::to_string(c.staleness);
  }
  return text + "}";
}

std::string aggregators_text(const policies::aggregators_spec& a) {
  if (a.kind == policies::aggregators_kind::fan_in)
    return "{fan_in: " + std::to_string(a.fan_in) + "}";
  return std::string(word(aggregators_words, a.kind));
}

std::string lifetime_text(const policies::rows_spec& rows) {
  const auto& lifetime = rows.lifetime;
  std::string text;
  if (lifetime.rows == 0) text += "\n        capacity: " + std::to_string(rows.capacity);
  if (!lifetime.admits_at_once())
    text += "\n        admit: {count: " + std::to_string(lifetime.admit_count) +
            ", candidates: " + std::to_string(lifetime.candidates) + "}";
  std::string evict;
  if (lifetime.unseen > 0) evict = "unseen: " + std::to_string(lifetime.unseen) + " clocks";
  if (lifetime.rows > 0)
    evict += (evict.empty() ? "" : ", ") + ("rows: " + std::to_string(lifetime.rows)) +
             ", by: " + std::string(word(policies::eviction_words, lifetime.by));
  if (!evict.empty()) text += "\n        evict: {" + evict + "}";
  return text;
}

std::string rows_memory_text(const policies::rows_spec& rows) {
  return rows.memory == 0 ? "" : "\n        memory: " + format_bytes(rows.memory);
}

std::string init_text(const policies::init_spec& first) {
  using kind = policies::init_kind;
  if (first.kind == kind::pushed) return "{pushed: true}";
  return (first.kind == kind::uniform ? "{uniform: " : "{constant: ") +
         format_real(first.value) + "}";
}

// What is stepped: the table as a whole, or the segments of its rows.
std::string steps_text(const policies::table_spec& t) {
  if (t.rows.segments.empty())
    return "        init: " + init_text(t.has_rows() ? t.rows.init : t.init) +
           "\n        optimizer: " + optimizer_text(t.optimizer) + "\n";
  std::string text = "        segments:\n";
  for (const auto& segment : t.rows.segments)
    text += "          - {columns: " + std::to_string(segment.columns) +
            ", init: " + init_text(segment.init) +
            ", optimizer: " + optimizer_text(segment.optimizer) + "}\n";
  return text;
}

std::string table_text(const policies::table_spec& t) {
  std::string shape;
  for (const auto n : t.shape) shape += (shape.empty() ? "" : ", ") + std::to_string(n);
  const auto form = t.has_rows() ? "rows: dynamic\n        dim: " + std::to_string(t.rows.dim) +
                                       lifetime_text(t.rows) + rows_memory_text(t.rows) +
                                       "\n        parts: " + shape
                                 : "shape: [" + shape + "]";
  return "      " + quote(t.name) + ":\n        " + form + "\n" + steps_text(t);
}

std::string job_text(const policies::job_spec& j) {
  std::string env;
  for (const auto& [name, value] : j.env) {
    env += (env.empty() ? "" : ", ") + quote(name) + ": " + quote(value);
  }
  std::string text = "  " + quote(j.name) + ":\n";
  text += "    workers: " + std::to_string(j.workers) + "\n";
  text += "    max_workers: " + std::to_string(j.capacity()) + "\n";
  if (!j.hosts.empty()) text += "    hosts: " + list_text(j.hosts) + "\n";
  text += "    command: " + list_text(j.command) + "\n";
  if (!j.stage.empty()) text += "    stage: " + list_text(j.stage) + "\n";
  text += "    env: {" + env + "}\n";
  text += "    consistency: " + consistency_text(j.consistency) + "\n";
  text += "    optimizer: " + optimizer_text(j.optimizer) + "\n";
  text +=
      "    on_worker_loss: " + std::string(word(worker_loss_words, j.on_worker_loss)) + "\n";
  text += "    spares: " + std::to_string(j.spares) + "\n";
  if (j.checkpoint) {
    const auto every = j.checkpoint->every_clocks > 0
                           ? std::to_string(j.checkpoint->every_clocks) + " clocks"
                           : format_duration_ms(j.checkpoint->every_ms);
    text += "    checkpoint: {every: " + every +
            ", keep: " + std::to_string(j.checkpoint->keep) +
            ", full_every: " + std::to_string(j.checkpoint->full_every) +
            (j.checkpoint->path.empty() ? "" : ", path: " + quote(j.checkpoint->path)) + "}\n";
  }
  text += "    reduce: " + std::string(word(reduce_words, j.reduce)) + "\n";
  text += "    aggregators: " + aggregators_text(j.aggregators) + "\n";
  text += "    gradients: {not_finite: " + std::string(word(not_finite_words, j.not_finite)) +
          ", clip_norm: " + format_real(j.clip_norm) + "}\n";
  const auto mirror = "mirror_every: " + std::to_string(j.state_mirror_every);
  if (j.state_bytes)
    text += "    state: {max: " +
            (*j.state_bytes == 0 ? std::string("0") : format_bytes(*j.state_bytes)) + ", " +
            mirror + "}\n";
  else
    text += "    state: {" + mirror + "}\n";
  text += "    seed: " + std::to_string(j.seed) + "\n";
  text += j.tables.empty() ? "    tables: {}\n" : "    tables:\n";
  for (const auto& t : j.tables) text += table_text(t);
  return text;
}

std::string limits_text(const std::string& role, const policies::restart_spec& limits) {
  return "  " + role + ": {max_restarts: " + std::to_string(limits.max_restarts) +
         ", within: " + format_duration_ms(limits.within_ms) +
         ", backoff: " + backoff_text(limits) + "}\n";
}

std::string heartbeat_text(std::uint32_t timeout_ms) {
  return "  heartbeat: {timeout: " +
         (timeout_ms == 0 ? std::string("off") : format_duration_ms(timeout_ms)) + "}\n";
}

std::string words_text(const std::vector<std::string>& words) {
  std::string text = "[";
  for (const auto& word : words) text += (text.size() > 1 ? ", " : "") + quote(word);
  return text + "]";
}

std::string random_text(const policies::chaos_plan& plan) {
  std::vector<std::string> roles;
  std::vector<std::string> actions;
  for (const auto role : plan.roles) roles.emplace_back(to_string(role));
  for (const auto& action : plan.actions) actions.push_back(action_text(action));
  auto text = "  random: {every: " + quote(pause_text(plan)) + ", roles: " + words_text(roles) +
              ", actions: " + words_text(actions);
  if (plan.hits_max > 0) text += ", count: " + std::to_string(plan.hits_max);
  if (plan.for_ms > 0) text += ", for: " + format_duration_ms(plan.for_ms);
  return text + "}\n";
}

std::string slow_text(const policies::slow_fault& fault) {
  auto text = "    " + quote(fault.process) + ": {factor: " + format_real(fault.factor) +
              ", from: " + std::to_string(fault.from);
  if (fault.until) text += ", until: " + std::to_string(*fault.until);
  return text + ", link_delay: " + format_duration_ms(fault.link_delay_ms) +
         ", disk_delay: " + format_duration_ms(fault.disk_delay_ms) + "}\n";
}

std::string monitor_text(const policies::monitor_spec& monitor) {
  auto text = "monitor: {address: " + quote(to_string(endpoint{monitor.host, monitor.port}));
  if (!monitor.key_file.empty()) text += ", key_file: " + quote(monitor.key_file);
  return text + "}\n";
}

std::string faults_text(const policies::fault_spec& faults) {
  auto text = "faults:\n  seed: " + std::to_string(faults.seed) + "\n";
  const auto& link = faults.link;
  text += "  link: {drop: " + format_real(link.drop) +
          ", duplicate: " + format_real(link.duplicate) +
          ", delay: " + format_real(link.delay) +
          ", delay_up_to: " + format_duration_ms(link.delay_ms_max) + "}\n";
  if (!faults.slow.empty()) text += "  slow:\n";
  for (const auto& fault : faults.slow) text += slow_text(fault);
  if (faults.random) text += random_text(*faults.random);
  // A moment is a key, with all that is to happen then.
  std::vector<std::pair<std::string, std::vector<std::string>>> moments;
  for (const auto& fault : faults.timed) {
    if (moments.empty() || moments.back().first != when_text(fault))
      moments.emplace_back(when_text(fault), std::vector<std::string>());
    moments.back().second.push_back(what_text(fault));
  }
  if (!moments.empty()) text += "  at:\n";
  for (const auto& [when, names] : moments)
    text += "    " + quote(when) + ": " + words_text(names) + "\n";
  return text;
}

std::string memory_text(std::uint64_t bytes) {
  return bytes == 0 ? "" : ", device_memory: " + format_bytes(bytes);
}

}  // namespace

std::string write_yaml(const policies::cluster_spec& spec) {
  return write_yaml(spec, std::nullopt);
}

std::string write_yaml(const policies::cluster_spec& spec,
                       const std::optional<otlp_spec>& otlp) {
  std::string text = "cluster:\n";
  text += "  name: " + quote(spec.name) + "\n";
  if (!spec.hosts.empty()) text += "  hosts:\n";
  for (const auto& host : spec.hosts) text += host_text(host);
  if (!spec.coordinator_host.empty())
    text += "  coordinator_host: " + quote(spec.coordinator_host) + "\n";
  const auto processes = spec.slots > 0 ? spec.slots : spec.shards;
  const auto count = std::to_string(processes);
  text += "  shards: " +
          (spec.device.empty() ? count
                               : "{count: " + count + ", device: " + quote(spec.device) +
                                     memory_text(spec.device_memory) + "}") +
          "\n";
  if (spec.slots > 0) text += "  max_shards: " + std::to_string(spec.shards) + "\n";
  text += "  replicas: " + std::to_string(spec.replicas) + "\n";
  if (!spec.shard_hosts.empty()) text += "  shard_hosts: " + list_text(spec.shard_hosts) + "\n";
  if (!spec.rows_dir.empty()) text += "  rows_dir: " + quote(spec.rows_dir) + "\n";
  text += "  memory_check: " + std::string(word(memory_words, spec.memory_check)) + "\n";
  text += "  traces: " + std::string(word(truth_words, spec.traces)) + "\n";
  text += engine_text(spec);
  text += "  transport: " + std::string(word(transport_words, spec.transport)) + "\n";
  text += "  chunk_bytes: " + format_bytes(spec.chunk_bytes) + "\n";
  if (!spec.plugins.empty()) text += "  plugins: " + list_text(spec.plugins) + "\n";
  text += "  plugin_timeout: " + format_duration_ms(spec.plugin_timeout_ms) + "\n";
  text += "  control: {host: " + quote(spec.control_host) +
          ", port: " + std::to_string(spec.control_port) + "}\n";
  text += "  start_timeout: " + format_duration_ms(spec.start_timeout_ms) + "\n";
  text += "supervision:\n" + limits_text("worker", spec.supervision.worker) +
          limits_text("shard", spec.supervision.shard) +
          limits_text("aggregator", spec.supervision.aggregator) +
          limits_text("coordinator", spec.supervision.coordinator) +
          heartbeat_text(spec.supervision.heartbeat_timeout_ms) +
          "  unreachable: " + format_duration_ms(spec.supervision.unreachable_ms) + "\n";
  if (spec.security.encrypt) text += "security: {encrypt: true}\n";
  if (spec.monitor) text += monitor_text(*spec.monitor);
  if (otlp) text += otlp_text(*otlp);
  if (spec.faults.any()) text += faults_text(spec.faults);
  text += "jobs:\n";
  for (const auto& job : spec.jobs) text += job_text(job);
  return text;
}

}  // namespace tidegate::launch
