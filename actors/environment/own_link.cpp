#include "actors/environment/own_link.hpp"

#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/environment/environment.hpp"
#include "policies/protocol/handshake.hpp"
#include "runtime/base/launch_variables.hpp"
#include "runtime/memory/segment.hpp"
#include "runtime/streams/stream_link.hpp"
#include "runtime/transport/host_link.hpp"
#include "runtime/transport/lossy_link.hpp"
#include "runtime/transport/null_link.hpp"
#include "runtime/ucx/net_device.hpp"
#include "runtime/ucx/ucx_link.hpp"

namespace tidegate::actors {

using runtime::errc;
using runtime::expected;
using runtime::fail;

namespace {

std::string text_of(const char* name) {
  const char* value = runtime::launch_variable(name);
  return value ? value : "";
}

bool sends_within_host(std::string_view transport) {
  return transport == "tcp" || transport == "ucx";
}

// UCX_TLS where the user has set none (launch/plan/environment.cpp).
constexpr std::string_view launcher_transports = "tcp,self";

// As long again may pass until the one that cannot be reached is replaced.
std::uint32_t silent_ms() {
  return unreachable_ms() / 2;
}

// "10.0.0.1,10.1.0.1"; empty where the cluster names no hosts.
std::vector<std::string> own_addresses() {
  std::vector<std::string> all;
  std::istringstream from(text_of("TIDEGATE_ADDRESS"));
  for (std::string address; std::getline(from, address, ',');) all.push_back(address);
  return all;
}

expected<std::unique_ptr<runtime::link>> make_stream_link(
    const std::vector<std::string>& addresses) {
  const auto token = run_token();
  if (!token) return fail(token.error());
  return runtime::open_stream_link({.addresses = addresses,
                                    .key = policies::data_plane_key(*token),
                                    .sealed = encrypts(),
                                    .silent_ms = silent_ms()});
}

// Returns true if payload for other hosts goes over UCX: the cluster file says so, or under
// `auto` the user has chosen UCX's transports, or this host has RDMA. What is to be encrypted
// never does.
bool sends_over_ucx(const std::string& transport) {
  if (transport == "ucx" || transport == "rdma") return true;
  if (transport != "auto" || encrypts()) return false;
  return text_of("UCX_TLS") != launcher_transports || runtime::has_rdma_device();
}

// At the first of several: over TCP UCX 1.13 does not connect between some of the interfaces of
// two hosts, and gives up.
expected<std::unique_ptr<runtime::link>> make_ucx_link(
    const std::string& transport, const std::vector<std::string>& addresses) {
  runtime::ucx_options options;
  if (!addresses.empty()) options.address = addresses.front();
  // Only where the transports are the launcher's choice, not the user's.
  options.rdma_if_there = transport == "auto" && text_of("UCX_TLS") == launcher_transports;
  options.rdma_only = transport == "rdma";
  options.silent_ms = silent_ms();
  return runtime::open_ucx_link(options);
}

// To peers beyond this host; where there are none, no socket listens, or on one interface
// alone.
expected<std::unique_ptr<runtime::link>> make_far_link(const std::string& transport) {
  const bool alone = text_of(one_host_variable) == "1";
  auto addresses = own_addresses();
  if (alone && (transport == "auto" || transport == "shm")) {
    for (const auto& address : addresses)  // a wrong one is told now
      if (const auto device = runtime::device_of(address); !device) return fail(device.error());
    return runtime::make_null_link();
  }
  if (sends_over_ucx(transport) && !alone) return make_ucx_link(transport, addresses);
  if (addresses.empty()) addresses.emplace_back("127.0.0.1");
  return sends_over_ucx(transport) ? make_ucx_link(transport, addresses)
                                   : make_stream_link(addresses);
}

}  // namespace

std::uint64_t shared_host() {
  return sends_within_host(text_of("TIDEGATE_TRANSPORT"))
             ? 0
             : runtime::host_identity(text_of("TIDEGATE_HOST"));
}

expected<std::unique_ptr<runtime::link>> make_own_link() {
  const auto transport = text_of("TIDEGATE_TRANSPORT");
  const auto faults = text_of("TIDEGATE_LINK_FAULTS");
  auto own = make_far_link(transport);
  if (own && !sends_within_host(transport)) own = runtime::make_host_link(std::move(*own));
  if (!own || faults.empty()) return own;
  runtime::link_faults link_faults;
  std::istringstream from(faults);
  if (!(from >> link_faults.seed >> link_faults.drop >> link_faults.duplicate >>
        link_faults.delay >> link_faults.delay_ms_min >> link_faults.delay_ms_max))
    return fail(errc::invalid_argument, "TIDEGATE_LINK_FAULTS=" + faults +
                                            "; allowed: a seed, shares of frames that are "
                                            "dropped, doubled, delayed, and milliseconds");
  return runtime::make_lossy(std::move(*own), link_faults);
}

}  // namespace tidegate::actors
