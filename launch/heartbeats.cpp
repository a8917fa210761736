#include "launch/heartbeats.hpp"

#include <utility>

namespace tidegate::launch {

runtime::expected<int> heartbeats::prepare(policies::process_number process,
                                           std::uint64_t token) {
  if (detector_.next_look() == policies::hang_detector::never) return -1;
  auto page = runtime::beat_page::make(token);
  if (!page) return runtime::fail(page.error());
  detector_.forget(process);
  return pages_.insert_or_assign(process, std::move(*page)).first->second.fd();
}

void heartbeats::started(policies::process_number process) {
  const auto at = pages_.find(process);
  if (at != pages_.end()) at->second.handed_over();
}

std::vector<policies::hang> heartbeats::look(std::int64_t now) {
  std::vector<policies::hang> found;
  if (now < detector_.next_look()) return found;
  std::vector<policies::beat_reading> readings;
  for (const auto& [process, page] : pages_)
    readings.push_back({process, page.record().beats.load()});
  detector_.look(now, readings, found);
  return found;
}

}  // namespace tidegate::launch
