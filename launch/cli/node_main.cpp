#include "launch/cli/node_main.hpp"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

#include "launch/config/read_spec.hpp"
#include "launch/plan/environment.hpp"
#include "launch/plan/plan.hpp"
#include "launch/text/scalars.hpp"
#include "policies/checkpoint/name.hpp"
#include "policies/placement/shard_map.hpp"
#include "policies/protocol/protocol_version.hpp"
#include "runtime/base/log.hpp"
#include "runtime/heartbeat/heartbeat.hpp"
#include "runtime/recorder/span_recorder.hpp"

namespace tidegate::launch {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

runtime::status bad_variable(const char* name) {
  return {runtime::errc::invalid_argument,
          std::string(name) + " is missing or wrong; `tidegate launch` sets it"};
}

runtime::status run_coordinator(const command_line& line, policies::cluster_spec spec,
                                std::uint64_t token, const services& cluster) {
  ::fcntl(line.ready_fd, F_SETFD, FD_CLOEXEC);
  const auto on_ready = [fd = line.ready_fd](std::uint16_t port) {
    const auto text = std::to_string(port) + "\n";
    // Shorter than PIPE_BUF: whole or not at all. A launcher that is gone takes this process
    // along.
    if (::write(fd, text.data(), text.size()) < 0)
      runtime::log::error("the ready pipe is closed");
    ::close(fd);
  };
  const auto epoch = parse_unsigned(variable("TIDEGATE_EPOCH"));
  if (!epoch || *epoch == 0 || *epoch > 0xffff'ffffU) return bad_variable("TIDEGATE_EPOCH");
  const auto incarnation = parse_unsigned(variable("TIDEGATE_INCARNATION"));
  if (!incarnation || *incarnation == 0 || *incarnation > 0xffff'ffffU)
    return bad_variable("TIDEGATE_INCARNATION");
  if (const auto text = variable("TIDEGATE_CONTROL_PORT"); !text.empty()) {
    const auto port = parse_unsigned(text);
    if (!port || *port == 0 || *port > 65535) return bad_variable("TIDEGATE_CONTROL_PORT");
    spec.control_port = static_cast<std::uint16_t>(*port);
  }
  return cluster.run_coordinator(spec,
                                 {.token = token,
                                  .epoch = static_cast<std::uint32_t>(*epoch),
                                  .run_dir = line.run_dir,
                                  .incarnation = static_cast<std::uint32_t>(*incarnation)},
                                 on_ready);
}

process_name name_of(const command_line& line) {
  if (line.kind == command_kind::node_coordinator) return {};
  auto role = process_role::aggregator;
  if (line.kind == command_kind::node_shard) role = process_role::shard;
  if (line.kind == command_kind::node_replica) role = process_role::replica;
  return {.role = role, .job = line.job, .index = line.index};
}

// A shard or an aggregator.
runtime::status run_member(const command_line& line, const policies::cluster_spec& spec,
                           std::uint64_t token, const services& cluster) {
  const auto address = variable("TIDEGATE_COORDINATOR");
  const auto colon = address.rfind(':');
  if (colon == std::string::npos) return bad_variable("TIDEGATE_COORDINATOR");
  const auto port = parse_unsigned(std::string_view(address).substr(colon + 1));
  if (!port || *port == 0 || *port > 65535) return bad_variable("TIDEGATE_COORDINATOR");
  actors::node_options options;
  options.coordinator_host = address.substr(0, colon);
  options.coordinator_port = static_cast<std::uint16_t>(*port);
  options.token = token;
  options.encrypt = spec.security.encrypt;
  options.index = line.index;
  options.checkpoint_folders = policies::checkpoint_folders(spec, line.run_dir);
  options.rows_dir = spec.rows_dir.empty() ? line.run_dir : spec.rows_dir;
  options.job = line.job;
  options.transport = spec.transport;
  options.device = {
      .name = spec.device, .memory = spec.device_memory, .chunk_bytes = spec.chunk_bytes};
  options.plugins = spec.plugins;
  options.plugin_timeout_ms = spec.plugin_timeout_ms;
  options.start_timeout_ms = spec.start_timeout_ms;
  if (const auto* slow = spec.faults.slow_of(name_of(line).to_string()))
    options.disk_delay_ms = slow->disk_delay_ms;
  const auto incarnation = parse_unsigned(variable("TIDEGATE_INCARNATION"));
  if (!incarnation || *incarnation == 0 || *incarnation > 0xffff'ffffU)
    return bad_variable("TIDEGATE_INCARNATION");
  if (line.kind == command_kind::node_replica) {
    const auto process = policies::slot_process_of(name_of(line), spec.shards);
    options.index = process.slot;
    options.member.number = process.place;
  }
  options.member.incarnation = static_cast<std::uint32_t>(*incarnation);
  if (line.kind == command_kind::node_aggregator) return cluster.run_aggregator(options);
  if (spec.slots > 0) return cluster.run_shard_host(options);
  return cluster.run_shard(options);
}

int exit_with(const runtime::status& why) {
  runtime::log::error(why.to_string());
  if (why.code() == runtime::errc::no_space) return exit_disk_full;
  if (why.code() == runtime::errc::io_error) return exit_disk_broken;
  return static_cast<int>(exit_code::job_failed);
}

}  // namespace

int node_main(const command_line& line, const services& cluster) {
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  const bool is_coordinator = line.kind == command_kind::node_coordinator;
  runtime::log::start(name_of(line).to_string());
  std::uint64_t token = 0;
  // First: what another version writes into the file and the environment is not known here.
  auto result = policies::check_protocol(std::getenv(policies::protocol_variable),
                                         "install the launcher's Tidegate on this host");
  if (!result.ok()) return exit_with(result);
  const auto spec = load_cluster(line.run_dir + "/cluster.yaml", {});
  if (!spec) {
    result = spec.error();
  } else if (!parse_token(variable("TIDEGATE_TOKEN"), token)) {
    result = bad_variable("TIDEGATE_TOKEN");
  } else {
    const auto beats = runtime::heartbeat::of_process(token);
    runtime::span_recorder::begin(token);
    result = is_coordinator ? run_coordinator(line, *spec, token, cluster)
                            : run_member(line, *spec, token, cluster);
  }
  return result.ok() ? static_cast<int>(exit_code::done) : exit_with(result);
}

}  // namespace tidegate::launch
