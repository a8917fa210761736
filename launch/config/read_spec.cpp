#include "launch/config/read_spec.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "launch/config/check_keys.hpp"
#include "launch/config/overrides.hpp"
#include "launch/config/read_faults.hpp"
#include "launch/config/read_hosts.hpp"
#include "launch/config/read_job.hpp"
#include "launch/config/read_monitor.hpp"
#include "launch/config/read_otlp.hpp"
#include "launch/config/read_supervision.hpp"
#include "launch/config/words.hpp"
#include "launch/config/yaml_keys.hpp"
#include "launch/text/files.hpp"
#include "launch/text/scalars.hpp"
#include "policies/placement/replica_chain.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/device/device_name.hpp"

namespace tidegate::launch {

namespace {

namespace limits = runtime::limits;

constexpr std::uint64_t start_timeout_ms_max = 60 * 60 * 1000;

bool is_host(std::string_view host) {
  constexpr std::size_t host_bytes_max = 255;
  return !host.empty() && host.size() <= host_bytes_max &&
         std::all_of(host.begin(), host.end(),
                     [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

bool is_absolute_path(std::string_view path) {
  return path.starts_with('/');
}

bool is_device(std::string_view name) {
  return runtime::devices::parse_device_name(name).has_value();
}

// An engine brings others.
std::size_t hosts_expected(const policies::cluster_spec& spec) {
  const std::size_t least = spec.engine == policies::engine_kind::local ? 0 : 2;
  return std::max(least, spec.hosts.size());
}

// Reads device_memory and chunk_bytes, each of which bounds the other: chunks that are not
// named are as large as the device's memory allows.
void read_chunks(const section& from, policies::cluster_spec& into) {
  using runtime::limits::device_chunks_min;
  constexpr auto most = std::uint64_t{1} << 40;
  const auto* value = from.get("shards");
  const bool has_map = value != nullptr && value->is_map();
  if (has_map)
    from.child("shards").bytes("device_memory", into.device_memory,
                               device_chunks_min * limits::chunk_bytes_min, most, 1);
  into.chunk_bytes = policies::default_chunk_bytes(hosts_expected(into), !into.device.empty());
  while (into.device_memory > 0 && into.device_memory < device_chunks_min * into.chunk_bytes &&
         into.chunk_bytes > limits::chunk_bytes_min)
    into.chunk_bytes /= 2;
  from.bytes("chunk_bytes", into.chunk_bytes, limits::chunk_bytes_min, limits::chunk_bytes_max,
             64);
  if (!has_map || into.device_memory == 0) return;
  const auto map = from.child("shards");
  if (into.device_memory < device_chunks_min * into.chunk_bytes)
    map.wrong("device_memory", "is " + format_bytes(into.device_memory) + ", and a chunk is " +
                                   format_bytes(into.chunk_bytes));
  if (into.device.empty()) map.wrong("device_memory", "is for shards on a device");
}

void read_shards(const section& from, std::uint64_t& shards, std::string& device) {
  const auto* value = from.get("shards");
  if (value == nullptr || !value->is_map()) {
    from.number("shards", shards, 1, limits::shards_max);
    return;
  }
  const auto map = from.child("shards");
  map.number("count", shards, 1, limits::shards_max);
  map.text("device", device, is_device);
}

void read_cluster_map(const section& from, policies::cluster_spec& into) {
  std::uint64_t shards = into.shards;
  std::uint64_t replicas = into.replicas;
  std::uint64_t timeout_ms = into.start_timeout_ms;
  std::uint64_t port = into.control_port;
  read_hosts(from, into);
  if (from.require("name")) from.text("name", into.name, is_plain_name);
  read_shards(from, shards, into.device);
  std::uint64_t max_shards = 0;
  from.number("max_shards", max_shards, shards, limits::shards_max);
  from.number("replicas", replicas, 0, policies::group_size_max - 1);
  from.choice<policies::transport_kind>("transport", into.transport, transport_words);
  from.choice<policies::memory_rule>("memory_check", into.memory_check, memory_words);
  from.choice<bool>("traces", into.traces, truth_words);
  read_chunks(from, into);
  from.text("rows_dir", into.rows_dir, is_absolute_path);
  if (from.get("plugins") != nullptr && !read_words(from, "plugins", into.plugins))
    into.plugins.clear();
  std::uint64_t plugin_ms = into.plugin_timeout_ms;
  from.duration_ms("plugin_timeout", plugin_ms, 1, start_timeout_ms_max);
  into.plugin_timeout_ms = static_cast<std::uint32_t>(plugin_ms);
  from.duration_ms("start_timeout", timeout_ms, 1, start_timeout_ms_max);
  const auto control = from.child("control");
  control.text("host", into.control_host, is_host);
  control.number("port", port, 0, std::numeric_limits<std::uint16_t>::max());
  into.shards = static_cast<std::uint32_t>(std::max(shards, max_shards));
  into.slots = max_shards > 0 ? static_cast<std::uint32_t>(shards) : 0;
  into.replicas = static_cast<std::uint32_t>(replicas);
  into.start_timeout_ms = static_cast<std::uint32_t>(timeout_ms);
  into.control_port = static_cast<std::uint16_t>(port);
}

void read_jobs(const section& root, policies::cluster_spec& into) {
  if (!root.require("jobs")) return;
  const auto jobs = root.child("jobs");
  if (jobs.node() == nullptr) return;
  if (jobs.node()->entries.empty()) root.wrong("jobs", "holds no job");
  for (const auto& e : jobs.node()->entries) {
    const auto shown = "jobs." + e.key;
    const std::string allowed(key_of("jobs.*").allowed);
    if (!is_plain_name(e.key)) {
      root.note(e.where, "'" + e.key + "' is no job name; allowed: " + allowed);
    }
    if (!e.value.is_map()) {
      root.note(e.value.where,
                shown + ": is " + std::string(describe(e.value)) + "; allowed: " + allowed);
      continue;
    }
    into.jobs.push_back(
        read_job(section(&e.value, e.where, "jobs.*", shown, root.out()), e.key));
  }
}

std::uint64_t declared_chunks(const policies::cluster_spec& spec) {
  const auto chunk_elements = spec.chunk_bytes / sizeof(float);
  std::uint64_t chunks = 0;
  for (const auto& job : spec.jobs)
    for (const auto& t : job.tables)
      chunks += t.has_rows() ? t.size() : (t.size() + chunk_elements - 1) / chunk_elements;
  return chunks;
}

// Of a size that is not named, chunks are small enough for each shard to have one, where they
// can be.
void share_out_chunks(const section& cluster, policies::cluster_spec& into) {
  if (cluster.get("chunk_bytes") != nullptr) return;
  const auto least = policies::default_chunk_bytes(hosts_expected(into), false);
  while (into.chunk_bytes > least && declared_chunks(into) > 0 &&
         declared_chunks(into) < into.shards)
    into.chunk_bytes /= 2;
}

// What only holds or fails for the whole. Runs on a spec whose parts are right.
void cross_check(const section& cluster, const policies::cluster_spec& spec) {
  const auto chunks = declared_chunks(spec);
  std::uint64_t tables = 0;
  bool all_declared = true;
  for (const auto& job : spec.jobs) {
    all_declared = all_declared && !job.tables.empty();
    tables += job.tables.size();
  }
  if (tables > limits::tables_max) {
    cluster.note(cluster.where(),
                 "the jobs declare " + std::to_string(tables) +
                     " tables; allowed: " + std::to_string(limits::tables_max));
  }
  const auto cut = " the declared tables make " + std::to_string(chunks) +
                   (chunks == 1 ? " chunk" : " chunks") + " of " +
                   format_bytes(spec.chunk_bytes);
  if (all_declared && chunks < spec.shards) {
    const std::string key = spec.slots > 0 ? "max_shards" : "shards";
    const auto* shards = cluster.get(key.c_str());
    cluster.note(shards == nullptr ? cluster.where() : shards->where,
                 "cluster." + key + ": " + std::to_string(spec.shards) + " is too large:" +
                     cut + ", and a shard without one has nothing to do; allowed: at most " +
                     std::to_string(chunks) + ", or a smaller cluster.chunk_bytes");
  }
  if (chunks > declared_chunks_max) {
    const auto* size = cluster.get("chunk_bytes");
    cluster.note(size == nullptr ? cluster.where() : size->where,
                 "cluster.chunk_bytes: is too small:" + cut + "; allowed: at most " +
                     std::to_string(declared_chunks_max) + " chunks");
  }
}

}  // namespace

runtime::expected<cluster_file> parse_cluster_file(const std::string& yaml,
                                                   const std::string& file_name,
                                                   const std::vector<std::string>& sets) {
  problems out;
  auto tree = parse_yaml(yaml, file_name, false, out);
  // After a syntax error or with a key given twice, what could be said of the rest would
  // mislead.
  if (!out.empty()) return runtime::fail(out.to_status());
  if (!tree.is_map()) {
    out.add(tree.where, (tree.is_null() ? "the file is empty" : "the file is no map") +
                            std::string("; allowed: a map with the keys cluster, supervision, "
                                        "security, monitor, otlp, jobs and faults"));
    return runtime::fail(out.to_status());
  }
  apply_overrides(tree, sets, out);
  check_keys(tree, out);
  const section root(&tree, tree.where, "", "", out);
  cluster_file file;
  auto& spec = file.spec;
  root.require("cluster");
  const auto cluster = root.child("cluster");
  if (root.get("cluster") != nullptr && root.get("cluster")->is_map()) {
    read_cluster_map(cluster, spec);
  }
  read_supervision(root.child("supervision"), spec.supervision);
  root.child("security").choice<bool>("encrypt", spec.security.encrypt, truth_words);
  read_monitor(root.child("monitor"), spec);
  file.otlp = read_otlp(root.child("otlp"));
  read_jobs(root, spec);
  if (out.empty()) {
    share_out_chunks(cluster, spec);
    cross_check(cluster, spec);
    check_hosts(root, spec);
    if (spec.security.encrypt && (spec.transport == policies::transport_kind::ucx ||
                                  spec.transport == policies::transport_kind::rdma))
      cluster.wrong("transport", "is " + std::string(word(transport_words, spec.transport)) +
                                     ", and UCX encrypts nothing (security.encrypt)");
  }
  if (out.empty()) read_faults(root.child("faults"), spec);
  if (!out.empty()) return runtime::fail(out.to_status());
  return file;
}

runtime::expected<policies::cluster_spec> parse_cluster(const std::string& yaml,
                                                        const std::string& file_name,
                                                        const std::vector<std::string>& sets) {
  auto file = parse_cluster_file(yaml, file_name, sets);
  if (!file) return runtime::fail(file.error());
  return std::move(file->spec);
}

runtime::expected<cluster_file> load_cluster_file(const std::string& file,
                                                  const std::vector<std::string>& sets) {
  const auto text = read_file(file);
  if (!text) return runtime::fail(text.error());
  return parse_cluster_file(*text, file, sets);
}

runtime::expected<policies::cluster_spec> load_cluster(const std::string& file,
                                                       const std::vector<std::string>& sets) {
  auto read = load_cluster_file(file, sets);
  if (!read) return runtime::fail(read.error());
  return std::move(read->spec);
}

}  // namespace tidegate::launch
