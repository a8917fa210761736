#include "runtime/ucx/ucx_context.hpp"

#include <cstdlib>
#include <memory>
#include <string>
#include <ucm/api/ucm.h>

#include "runtime/base/assert.hpp"
#include "runtime/base/log.hpp"
#include "runtime/ucx/net_device.hpp"
#include "runtime/ucx/stream_guard.hpp"
#include "runtime/ucx/stream_refusals.hpp"
#include "runtime/ucx/ucx_error.hpp"

namespace tidegate::runtime {

namespace {

// A setting of ours stands back behind the user's own `variable`.
void set(ucp_config_t* config, const std::string& name, const std::string& value,
         const std::string& variable) {
  if (std::getenv(variable.c_str()) != nullptr) return;
  const auto modified = ucp_config_modify(config, name.c_str(), value.c_str());
  TIDEGATE_ASSERT(modified == UCS_OK, "UCX knows its own settings");
}

// UCX keeps registrations for RDMA and must know what is unmapped; the launcher has told it not
// to look (launch/plan/environment.cpp).
void watch_mappings() {
  auto options = ucm_global_opts;
  options.enable_events = 1;
  ucm_set_global_opts(&options);
}

status choose_devices(const ucx_options& options, ucp_config_t* config) {
  const bool rdma = has_rdma_device();
  if (options.rdma_only && !rdma)
    return {errc::unavailable,
            "cluster.transport: rdma: this host has no RDMA device (/sys/class/infiniband is "
            "empty or not there); auto and tcp need none"};
  if (options.rdma_only) {
    watch_mappings();
    return {};
  }
  if (options.rdma_if_there && rdma) {
    watch_mappings();
    const auto all = std::string("rc,dc,ud,") + std::getenv("UCX_TLS");
    const auto modified = ucp_config_modify(config, "TLS", all.c_str());
    TIDEGATE_ASSERT(modified == UCS_OK, "UCX knows TLS");
    return {};
  }
  if (options.address.empty()) return {};
  // Only the interface that the others reach: UCX takes any that looks near, and some lead
  // nowhere (bridges of containers).
  const auto device = device_of(options.address);
  if (!device) return device.error();
  // A process may start while a network is away, and is not to be without one for ever.
  if (auto runs = wait_for_device(*device, 2 * options.silent_ms); !runs.ok()) return runs;
  set(config, "NET_DEVICES", *device, "UCX_NET_DEVICES");
  return {};
}

// UCX 1.13 knows these here without the TCP_ of its variables, and rounds seconds down.
void mark_streams(std::uint32_t silent_ms, ucp_config_t* config) {
  const auto marks = keepalive_within(silent_ms);
  set(config, "KEEPIDLE", std::to_string(marks.idle_s) + ".5s", "UCX_TCP_KEEPIDLE");
  set(config, "KEEPINTVL", std::to_string(marks.pause_s) + ".5s", "UCX_TCP_KEEPINTVL");
  set(config, "KEEPCNT", std::to_string(marks.probes), "UCX_TCP_KEEPCNT");
  // Otherwise a reactor stands in connect() for as long as a network drops everything.
  set(config, "CONN_NB", "y", "UCX_TCP_CONN_NB");
}

}  // namespace

expected<ucp_context_h> make_ucx_context(const ucx_options& options) {
  if (!stream_refusals::take_over_sends())
    log::warn(
        "this UCX sends in a way that is not known here; it may abort this process when a "
        "peer dies while a connection is made (docs/decisions/0010-dead-peers.md)");
  ucp_config_t* read = nullptr;
  if (auto code = ucp_config_read(nullptr, nullptr, &read); code != UCS_OK)
    return fail(ucx_error("reading UCX's configuration", code));
  const std::unique_ptr<ucp_config_t, decltype(&ucp_config_release)> config(
      read, &ucp_config_release);
  // Keep-alive costs a system call in every progress(). Death is learnt from supervision, and a
  // broken stream from the stream.
  const auto modified = ucp_config_modify(read, "KEEPALIVE_INTERVAL", "inf");
  TIDEGATE_ASSERT(modified == UCS_OK, "UCX knows KEEPALIVE_INTERVAL");
  if (auto chosen = choose_devices(options, read); !chosen.ok()) return fail(std::move(chosen));
  if (options.silent_ms > 0 && !options.rdma_only) mark_streams(options.silent_ms, read);
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  params.name = "tidegate";
  ucp_context_h context = nullptr;
  if (auto code = ucp_init(&params, read, &context); code != UCS_OK)
    return fail(ucx_error("starting UCX", code));
  return context;
}

}  // namespace tidegate::runtime
