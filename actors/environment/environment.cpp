#include "actors/environment/environment.hpp"

#include <charconv>
#include <chrono>
#include <sstream>
#include <string_view>
#include <utility>

#include "policies/protocol/protocol_version.hpp"
#include "runtime/base/launch_variables.hpp"
#include "runtime/functions/function_watch.hpp"

namespace tidegate::actors {

using runtime::errc;
using runtime::expected;
using runtime::fail;
using runtime::status;

namespace {

expected<std::string> variable(const char* name) {
  const char* value = runtime::launch_variable(name);
  if (!value || !*value)
    return fail(errc::invalid_argument,
                std::string(name) + " is not set: start this program with `tidegate launch`");
  return std::string(value);
}

template <class Int>
bool parse(std::string_view text, Int& out, int base = 10) {
  const auto end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, out, base);
  return result.ec == std::errc{} && result.ptr == end && !text.empty();
}

expected<std::uint32_t> number(const char* name) {
  auto text = variable(name);
  if (!text) return fail(text.error());
  std::uint32_t value = 0;
  if (!parse(*text, value))
    return fail(errc::invalid_argument, std::string(name) + "=" + *text + " is no number");
  return value;
}

}  // namespace

expected<std::uint64_t> run_token() {
  const auto text = variable("TIDEGATE_TOKEN");
  if (!text) return fail(text.error());
  std::uint64_t token = 0;
  if (!parse(*text, token, 16))
    return fail(errc::invalid_argument, "TIDEGATE_TOKEN is no hexadecimal number");
  return token;
}

std::uint32_t unreachable_ms() {
  const char* text = runtime::launch_variable("TIDEGATE_UNREACHABLE_MS");
  std::uint32_t value = 0;
  return text && parse(std::string_view(text), value) && value > 0
             ? value
             : policies::supervision_spec().unreachable_ms;
}

bool encrypts() {
  const char* text = runtime::launch_variable("TIDEGATE_ENCRYPT");
  return text != nullptr && std::string_view(text) == "1";
}

shell_limits limits_of_cluster() {
  shell_limits limits;
  limits.reconnects =
      policies::reconnect_limits::within(unreachable_ms() * policies::millisecond);
  return limits;
}

namespace {

runtime::function_library& own_functions() {
  static runtime::function_library library;
  return library;
}

}  // namespace

status load_plugins(const node_options& options) {
  if (options.plugins.empty()) return {};
  for (const auto& path : options.plugins)
    if (auto added = own_functions().add_plugin(path); !added.ok()) return added;
  runtime::set_rules_of_process(own_functions().rules());
  return runtime::begin_to_watch(std::chrono::milliseconds(options.plugin_timeout_ms));
}

const runtime::function_library& functions_of_process() {
  return own_functions();
}

status parse_address(const std::string& text, std::string& host, std::uint16_t& port) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 ||
      !parse(std::string_view(text).substr(colon + 1), port) || port == 0)
    return {errc::invalid_argument, "'" + text + "' is not host:port"};
  host = text.substr(0, colon);
  return {};
}

expected<node_options> read_node_environment() {
  node_options options;
  auto coordinator = variable("TIDEGATE_COORDINATOR");
  if (!coordinator) return fail(coordinator.error());
  auto parsed = parse_address(*coordinator, options.coordinator_host, options.coordinator_port);
  if (!parsed.ok()) return fail(parsed.code(), "TIDEGATE_COORDINATOR: " + parsed.message());
  auto same = policies::check_protocol(runtime::launch_variable(policies::protocol_variable),
                                       "rebuild the worker against the installed Tidegate");
  if (!same.ok()) return fail(same);
  const auto token = run_token();
  if (!token) return fail(token.error());
  options.token = *token;
  options.encrypt = encrypts();
  if (const char* timeout = runtime::launch_variable("TIDEGATE_START_TIMEOUT_MS");
      timeout && !parse(std::string_view(timeout), options.start_timeout_ms))
    return fail(errc::invalid_argument, "TIDEGATE_START_TIMEOUT_MS is no number");
  return options;
}

expected<worker_environment> read_worker_environment() {
  worker_environment all;
  auto node = read_node_environment();
  if (!node) return fail(node.error());
  all.node = *node;
  auto job = variable("TIDEGATE_JOB");
  if (!job) return fail(job.error());
  all.job = *job;
  auto rank = number("TIDEGATE_RANK");
  if (!rank) return fail(rank.error());
  all.rank = *rank;
  auto incarnation = number("TIDEGATE_INCARNATION");
  if (!incarnation) return fail(incarnation.error());
  all.incarnation = *incarnation;
  if (const char* slow = runtime::launch_variable("TIDEGATE_SLOW")) {
    std::istringstream from(slow);
    if (!(from >> all.slow_factor >> all.slow_from >> all.slow_until) || all.slow_factor < 1)
      return fail(errc::invalid_argument,
                  "TIDEGATE_SLOW=" + std::string(slow) +
                      "; allowed: a factor from 1, a clock, and the clock where it ends");
  }
  return all;
}

}  // namespace tidegate::actors
