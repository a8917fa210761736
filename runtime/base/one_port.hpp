// Listening at several addresses of a host at one port. Pure but for what is called; any
// thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.hpp"

namespace tidegate::runtime {

template <class Listener>
struct one_port {
  std::vector<Listener> listeners;  // in the order of the addresses
  std::vector<status> failures;     // of addresses at which nothing listens
};

// `open(address, port)` returns an expected<Listener>, with port 0 at one that the system
// chooses; `port_of` says which. A port that is free at the first address may be in use at
// another (already_exists), so several are tried. An address that fails otherwise, as of a
// network that is away, is left out.
template <class Listener, class Open, class PortOf>
one_port<Listener> listen_at_one_port(const std::vector<std::string>& addresses,
                                      const Open& open, const PortOf& port_of) {
  constexpr int ports_tried = 16;
  one_port<Listener> all;
  for (int left = ports_tried; left > 0; --left) {
    all = {};
    for (const auto& address : addresses) {
      const std::uint16_t port = all.listeners.empty() ? 0 : port_of(all.listeners.front());
      auto opened = open(address, port);
      if (opened)
        all.listeners.push_back(std::move(*opened));
      else
        all.failures.push_back(opened.error());
    }
    const auto is_in_use = [](const status& why) { return why.code() == errc::already_exists; };
    if (all.listeners.empty() || std::ranges::none_of(all.failures, is_in_use)) break;
  }
  return all;
}

}  // namespace tidegate::runtime
