#include "launch/config/read_monitor.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "launch/text/endpoint.hpp"

namespace tidegate::launch {

namespace {

// The port of exporters in examples of OpenTelemetry.
constexpr const char* default_address = "127.0.0.1:9464";

}  // namespace

void read_monitor(const section& from, policies::cluster_spec& into) {
  if (from.node() == nullptr || !from.node()->is_map()) return;
  std::string address = default_address;
  const auto parsed = [](std::string_view text) {
    auto place = parse_endpoint(std::string(text), std::nullopt);
    if (place && !is_address(place->host)) place.reset();
    return place;
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
