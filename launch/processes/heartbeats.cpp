#include "launch/processes/heartbeats.hpp"

#include <utility>

namespace tidegate::launch {

runtime::expected<int> heartbeats::prepare(policies::process_number process,
                                           std::uint64_t token) {
  auto page = runtime::beat_page::make(token);
  if (!page) return runtime::fail(page.error());
  return pages_.insert_or_assign(process, std::move(*page)).first->second.fd();
}

void heartbeats::started(policies::process_number process) {
  const auto at = pages_.find(process);
  if (at != pages_.end()) at->second.handed_over();
}

std::vector<policies::beat_reading> heartbeats::readings() const {
  std::vector<policies::beat_reading> readings;
  for (const auto& [process, page] : pages_)
    readings.push_back({process, page.record().beats.load()});
  return readings;
}

}  // namespace tidegate::launch
