// What the launcher tells its processes through the environment
// (actors/environment/node_options.hpp lists the variables).
#pragma once

#include <cstdint>
#include <string>

#include "actors/environment/node_options.hpp"
#include "actors/seam/shell_home.hpp"
#include "runtime/base/status.hpp"
#include "runtime/functions/function_library.hpp"

namespace tidegate::actors {

struct worker_environment {
  node_options node;  // coordinator and token
  std::string job;
  std::uint32_t rank = 0;
  std::uint32_t incarnation = 1;
  // The factor, the first clock and the clock after the last (TIDEGATE_SLOW).
  double slow_factor = 1;
  std::uint64_t slow_from = 0;
  std::uint64_t slow_until = 0;
};

// Errors: invalid_argument, naming the variable that is missing or wrong, or saying that this
// program is built for another protocol than the launcher's.
runtime::expected<worker_environment> read_worker_environment();
// What a shard process reads: coordinator, token; `index` comes from its command line.
runtime::expected<node_options> read_node_environment();

// The run's token (TIDEGATE_TOKEN). Errors: invalid_argument.
runtime::expected<std::uint64_t> run_token();

// supervision.unreachable of the cluster, in milliseconds, as the launcher tells it
// (TIDEGATE_UNREACHABLE_MS); 10,000 without it.
std::uint32_t unreachable_ms();

// What follows from it for the shells of this process.
shell_limits limits_of_cluster();

// Returns true if the cluster's processes encrypt what they say to each other
// (security.encrypt, as TIDEGATE_ENCRYPT tells it).
bool encrypts();

// Loads the plugins of the cluster and watches what they run, before a shell of this process
// asks for functions. Errors: those of function_library::add_plugin() and begin_to_watch().
runtime::status load_plugins(const node_options& options);
// Those, and what is built in.
const runtime::function_library& functions_of_process();

// "host:port". Errors: invalid_argument.
runtime::status parse_address(const std::string& text, std::string& host, std::uint16_t& port);

}  // namespace tidegate::actors
