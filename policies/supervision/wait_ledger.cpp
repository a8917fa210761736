#include "policies/supervision/wait_ledger.hpp"

#include <algorithm>

namespace tidegate::policies {

std::vector<wait_ledger::wait> wait_ledger::look(std::int64_t now,
                                                 const std::vector<wait>& found) {
  std::vector<wait> fresh;
  std::map<std::pair<std::string, std::string>, age> ages;
  for (const auto& entry : found) {
    const std::pair key{entry.waiter, entry.awaited};
    const auto known = ages_.find(key);
    auto state = known == ages_.end() ? age{.since = now - entry.for_ns} : known->second;
    if (!state.reported && now - state.since >= told_after_ns) {
      state.reported = true;
      fresh.push_back(entry);
      fresh.back().for_ns = now - state.since;
    }
    ages.emplace(key, state);
  }
  ages_ = std::move(ages);
  return fresh;
}

std::vector<wait_status> wait_ledger::reported(std::int64_t now) const {
  std::vector<wait_status> old;
  for (const auto& [key, state] : ages_)
    if (now - state.since >= told_after_ns)
      old.push_back({.waiter = key.first,
                     .awaited = key.second,
                     .seconds = static_cast<double>(now - state.since) * 1e-9});
  std::stable_sort(old.begin(), old.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return old;
}

}  // namespace tidegate::policies
