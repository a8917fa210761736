#include "launch/config/read_monitor.hpp"

#include <arpa/inet.h>
#include <array>
#include <string>
#include <utility>

#include "launch/text/endpoint.hpp"

namespace tidegate::launch {

namespace {

// The port of exporters in examples of OpenTelemetry.
constexpr const char* default_address = "127.0.0.1:9464";

bool is_numeric(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> parsed{};
  return ::inet_pton(AF_INET, host.c_str(), parsed.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), parsed.data()) == 1;
}

bool is_loopback(const std::string& host) {
  return host.starts_with("127.") || host == "::1";
}

}  // namespace

void read_monitor(const section& from, policies::cluster_spec& into) {
  if (from.node() == nullptr || !from.node()->is_map()) return;
  std::string address = default_address;
  const auto parsed = [](std::string_view text) {
    auto place = parse_endpoint(std::string(text), 0);
    // Without a port it would be a chance where it listens.
    const auto port = ":" + std::to_string(place ? place->port : 0);
    const bool is_v6 = place && place->host.find(':') != std::string::npos;
    if (place && text.ends_with((is_v6 ? "]" : "") + port) && is_numeric(place->host))
      return place;
    return std::optional<endpoint>();
  };
  from.text("address", address,
            [&](std::string_view text) { return parsed(text).has_value(); });
  policies::monitor_spec monitor;
  if (auto place = parsed(address)) {
    monitor.host = std::move(place->host);
    monitor.port = place->port;
  }
  from.text("key_file", monitor.key_file,
            [](std::string_view text) { return text.starts_with('/'); });
  if (monitor.key_file.empty() && from.get("key_file") == nullptr && !is_loopback(monitor.host))
    from.wrong("address", "can be reached from other hosts, and monitor.key_file is missing");
  into.monitor = std::move(monitor);
}

}  // namespace tidegate::launch
