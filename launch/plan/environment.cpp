#include "launch/plan/environment.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string_view>

#include "actors/environment/node_options.hpp"
#include "launch/config/words.hpp"
#include "launch/text/scalars.hpp"
#include "policies/model/clock_vector.hpp"
#include "policies/placement/hosts.hpp"
#include "policies/protocol/protocol_version.hpp"
#include "runtime/base/object_place.hpp"
#include "runtime/base/rng.hpp"

namespace tidegate::launch {

namespace {

void set_transport(const policies::cluster_spec& spec, variables& all) {
  using kind = policies::transport_kind;
  // Between hosts; within one there are rings (runtime/transport/host_link.hpp).
  const char* tls = "tcp,self";
  if (spec.transport == kind::shm) tls = "self";
  if (spec.transport == kind::rdma) tls = "rc,dc,ud,self";
  all.emplace("UCX_TLS", tls);
  // Over TCP UCX cuts payload into pieces of this size, and each costs several system calls at
  // both ends, which must agree on it. Half of a usual second-level cache: UCX copies from
  // there to where the payload belongs.
  all.emplace("UCX_TCP_RX_SEG_SIZE", "512K");
  // Pieces of memory in one system call: what bundles of small frames are made of. UCX 1.13.1
  // has room for 16, and breaks with more.
  all.emplace("UCX_TCP_MAX_IOV", "16");
  // As its library is loaded, UCX tries out how it watches what the process maps, with a System
  // V segment of 4 KiB, which outlives a process that is killed in that moment. Only RDMA needs
  // to watch (runtime/ucx/ucx_context.cpp).
  all.emplace("UCX_MEM_EVENTS", "n");
  // A variable for a transport that UCX_TLS leaves out is no news.
  all.emplace("UCX_WARN_UNUSED_ENV_VARS", "n");
}

// Scripts that torchrun starts find their place in these.
void set_ranks(const policies::cluster_spec& spec, const policies::job_spec& job,
               const process_plan& process, std::uint16_t port, variables& all) {
  const auto rank = process.name.index;
  const auto workers = std::max(job.workers, rank + 1);
  const auto* own = policies::host_of_worker(spec, job, rank);
  std::uint32_t before = 0, beside = 0;
  for (std::uint32_t other = 0; other < workers; ++other) {
    if (policies::host_of_worker(spec, job, other) != own) continue;
    ++beside;
    if (other < rank) ++before;
  }
  const auto* first = policies::host_of_worker(spec, job, 0);
  all["RANK"] = std::to_string(rank);
  all["WORLD_SIZE"] = std::to_string(workers);
  all["LOCAL_RANK"] = std::to_string(before);
  all["LOCAL_WORLD_SIZE"] = std::to_string(beside);
  all["MASTER_ADDR"] =
      first != nullptr && !first->address.empty() ? first->address : "127.0.0.1";
  all["MASTER_PORT"] = std::to_string(port);
}

}  // namespace

namespace {

void set_faults(const policies::fault_spec& faults, const process_plan& process,
                variables& all) {
  const auto name = process.name.to_string();
  const auto* slow = faults.slow_of(name);
  if (slow != nullptr && slow->factor > 1)
    all["TIDEGATE_SLOW"] =
        format_real(slow->factor) + " " + std::to_string(slow->from) + " " +
        std::to_string(slow->until.value_or(policies::clock_vector::infinity));
  auto link = faults.link;
  std::uint32_t delay_ms_min = 0;
  if (slow != nullptr && slow->link_delay_ms > 0) {
    link.delay = 1;
    link.delay_ms_max = delay_ms_min = slow->link_delay_ms;
  }
  if (!link.any()) return;
  // Each incarnation of each process draws its own.
  const auto seed =
      runtime::mix64(runtime::stream_key(faults.seed, name) ^ process.incarnation);
  all["TIDEGATE_LINK_FAULTS"] = std::to_string(seed) + " " + format_real(link.drop) + " " +
                                format_real(link.duplicate) + " " + format_real(link.delay) +
                                " " + std::to_string(delay_ms_min) + " " +
                                std::to_string(link.delay_ms_max);
}

std::string addresses_text(const policies::host_spec& host) {
  auto text = host.address;
  for (const auto& rail : host.rails) text += "," + rail;
  return text;
}

}  // namespace

std::string reachable_host(const policies::cluster_spec& spec) {
  const bool any4 = spec.control_host == "0.0.0.0";
  if (!any4 && spec.control_host != "::") return spec.control_host;
  const auto* home = policies::host_of_coordinator(spec);
  if (home != nullptr && !home->address.empty()) return home->address;
  return any4 ? "127.0.0.1" : "::1";
}

variables child_environment(const variables& base, const policies::cluster_spec& spec,
                            const process_plan& process, const run_identity& run) {
  const auto& name = process.name;
  const bool keeps_checkpoints =
      name.role != process_role::worker && name.role != process_role::aggregator;
  auto all = keeps_checkpoints ? base : without_object_secrets(base, spec);
  // What an outer run may have left here is not about this one.
  std::erase_if(all, [](const auto& v) {
    return v.first.starts_with("TIDEGATE_") && v.first != "TIDEGATE_LOG";
  });
  if (name.role == process_role::worker) {
    for (const auto& job : spec.jobs) {
      if (job.name != name.job) continue;
      set_ranks(spec, job, process, run.workers_port, all);
      for (const auto& [key, value] : job.env) all[key] = value;
    }
    all["TIDEGATE_JOB"] = name.job;
    all["TIDEGATE_RANK"] = std::to_string(name.index);
  }
  all["TIDEGATE_INCARNATION"] = std::to_string(process.incarnation);
  if (name.role == process_role::coordinator) {
    // One that comes back is looked for where the one before was.
    if (run.port != 0) all["TIDEGATE_CONTROL_PORT"] = std::to_string(run.port);
  } else {
    all["TIDEGATE_COORDINATOR"] = reachable_host(spec) + ":" + std::to_string(run.port);
  }
  if (const auto* host = policies::find_host(spec, process.host)) {
    all["TIDEGATE_HOST"] = host->name;
    if (!host->address.empty()) all["TIDEGATE_ADDRESS"] = addresses_text(*host);
  }
  if (spec.hosts.size() < 2) all[actors::one_host_variable] = "1";
  all[policies::protocol_variable] = policies::protocol_text();
  all["TIDEGATE_TOKEN"] = format_token(run.token);
  all["TIDEGATE_EPOCH"] = std::to_string(run.epoch);
  all["TIDEGATE_TRANSPORT"] = word(transport_words, spec.transport);
  all["TIDEGATE_START_TIMEOUT_MS"] = std::to_string(spec.start_timeout_ms);
  all["TIDEGATE_UNREACHABLE_MS"] = std::to_string(spec.supervision.unreachable_ms);
  if (spec.security.encrypt) all["TIDEGATE_ENCRYPT"] = "1";
  all["TIDEGATE_RUN_DIR"] = run.run_dir;
  set_faults(spec.faults, process, all);
  set_transport(spec, all);
  return all;
}

bool has_object_place(const policies::cluster_spec& spec) {
  return std::any_of(spec.jobs.begin(), spec.jobs.end(), [](const auto& job) {
    return job.checkpoint && runtime::is_object_place(job.checkpoint->path);
  });
}

variables without_object_secrets(variables all, const policies::cluster_spec& spec) {
  if (has_object_place(spec))
    for (const auto* name : runtime::object_secrets) all.erase(name);
  return all;
}

bool may_send_over_ucx(const policies::cluster_spec& spec, const variables& environment) {
  using kind = policies::transport_kind;
  if (spec.transport == kind::automatic)
    return !spec.security.encrypt && !variable_in(environment, "UCX_TLS").empty();
  return spec.transport == kind::ucx || spec.transport == kind::rdma;
}

std::string variable_in(const variables& all, const std::string& name) {
  const auto at = all.find(name);
  return at == all.end() ? std::string() : at->second;
}

variables parse_environment(const char* const* environment) {
  variables all;
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry(*environment);
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    all.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return all;
}

std::vector<std::string> format_environment(const variables& all) {
  std::vector<std::string> entries;
  for (const auto& [name, value] : all) entries.push_back(name + "=" + value);
  return entries;
}

std::string format_token(std::uint64_t token) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(token));
  return text;
}

bool parse_token(const std::string& text, std::uint64_t& token) {
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, token, 16);
  return error == std::errc{} && stop == end && text.size() <= 16;
}

}  // namespace tidegate::launch
