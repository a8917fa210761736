#include "launch/chaos/world.hpp"

#include <algorithm>
#include <poll.h>

#include "launch/chaos/chaos_log.hpp"
#include "launch/chaos/fill.hpp"
#include "launch/chaos/partition.hpp"
#include "launch/processes/signals.hpp"
#include "launch/run/run_journal.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::chaos {

using runtime::status;

namespace {

status set_host(const policies::host_spec& host, const std::vector<std::string>& interfaces,
                bool up, chaos_log& log) {
  status result;
  for (const auto& interface : interfaces) {
    const auto now = runtime::unix_now();
    auto set = set_interface(host, interface, up);
    if (set.ok())
      set = log.append(now, up ? "heal" : "partition", host.name + " interface " + interface);
    if (result.ok()) result = std::move(set);
  }
  // A host is not left half cut off.
  if (!result.ok() && !up)
    for (const auto& interface : interfaces) (void)set_interface(host, interface, true);
  return result;
}

void stay(std::uint64_t ms, launch::signal_source& signals) {
  const auto until = runtime::steady_now() + static_cast<std::int64_t>(ms) * 1'000'000;
  while (runtime::steady_now() < until && signals.next() == 0) {
    const auto left = (until - runtime::steady_now() + 999'999) / 1'000'000;
    pollfd fd{.fd = signals.fd(), .events = POLLIN, .revents = 0};
    ::poll(&fd, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
  }
}

}  // namespace

// What cannot be noted on a full disk is noted when it has room again.
status fill(const std::string& run_dir, std::uint64_t for_ms) {
  launch::signal_source signals;
  chaos_log log(run_dir);
  const auto time = std::to_string(for_ms) + " ms";
  if (auto noted = log.append(runtime::unix_now(), "fill", "for " + time); !noted.ok())
    return noted;
  auto taken = fill_disk(run_dir);
  if (!taken) return taken.error();
  stay(for_ms, signals);
  taken->reset();
  return log.append(runtime::unix_now(), "free", "after " + time);
}

status cut_off(const std::string& run_dir, const std::string& name, bool heals,
               std::uint64_t for_ms) {
  const auto host = find_host(run_dir, name);
  if (!host) return host.error();
  const auto interfaces = interfaces_of(*host);
  if (!interfaces) return interfaces.error();
  launch::signal_source signals;
  chaos_log log(run_dir);
  auto result = set_host(*host, *interfaces, heals, log);
  if (!result.ok() || for_ms == 0) return result;
  stay(for_ms, signals);
  return set_host(*host, *interfaces, true, log);
}

}  // namespace tidegate::chaos
