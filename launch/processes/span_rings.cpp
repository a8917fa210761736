#include "launch/processes/span_rings.hpp"

#include <algorithm>
#include <utility>

namespace tidegate::launch {

runtime::expected<int> span_rings::prepare(const policies::launched_process& process,
                                           const std::string& writer, std::uint64_t token) {
  auto ring = runtime::span_ring::make(token);
  if (!ring) return runtime::fail(ring.error());
  const auto [at, is_new] =
      starting_.insert_or_assign(process.process, owned_ring{.incarnation = process.incarnation,
                                                             .writer = writer,
                                                             .ring = std::move(*ring)});
  return at->second.ring.fd();
}

void span_rings::started(policies::process_number process) {
  auto ring = starting_.extract(process);
  if (ring.empty()) return;
  ring.mapped().ring.handed_over();
  before_.erase(process);
  if (auto last = rings_.extract(process); !last.empty()) before_.insert(std::move(last));
  rings_.insert(std::move(ring));
}

std::vector<policies::agent_reports::spans> span_rings::read(std::size_t each_max) const {
  std::vector<policies::agent_reports::spans> all;
  for (const auto* rings : {&before_, &rings_})
    for (const auto& [process, of] : *rings) {
      auto spans = of.ring.read();
      if (spans.empty()) continue;
      const auto left_out = spans.size() - std::min(spans.size(), each_max);
      spans.erase(spans.begin(), spans.begin() + static_cast<std::ptrdiff_t>(left_out));
      all.push_back({.writer = of.writer,
                     .incarnation = of.incarnation,
                     .is_cut = left_out > 0 || of.ring.is_over(),
                     .all = std::move(spans)});
    }
  return all;
}

}  // namespace tidegate::launch
