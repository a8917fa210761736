#include "launch/simulate/cluster/chunk_history.hpp"

#include <bit>

#include "runtime/base/rng.hpp"

namespace tidegate::sim {

std::uint64_t digest_of(std::span<const float> values) {
  std::uint64_t digest = values.size();
  for (const float value : values)
    digest = runtime::mix64(digest ^ std::bit_cast<std::uint32_t>(value));
  return digest;
}

bool chunk_history::version::has(const served_values& values) const {
  const auto& own = values.parameters;
  return std::equal(own.begin(), own.end(), parameters.begin(), parameters.end()) &&
         (!values.uses || !rows || rows->uses() == *values.uses);
}

void chunk_history::note_version() {
  versions.push_back({.digest = digest_of(parameters),
                      .updates = at.size(),
                      .parameters = parameters,
                      .state1 = state1,
                      .state2 = state2,
                      .powers = powers,
                      .rows = rows});
}

void chunk_history::roll_back(std::size_t found) {
  const auto& to = versions[found];
  parameters = to.parameters;
  state1 = to.state1;
  state2 = to.state2;
  powers = to.powers;
  rows = to.rows;
  std::erase_if(at, [&](const auto& entry) { return entry.second >= to.updates; });
  std::erase_if(acknowledged, [&](const auto& candidate) { return !at.contains(candidate); });
  versions.resize(found + 1);
  newest_read.clear();
}

void chunk_history::return_to(const version& ghost, const std::set<update>& with) {
  at.clear();
  for (const auto& candidate : with) at.emplace(candidate, at.size());
  versions.resize(1);
  versions.push_back(ghost);
  roll_back(1);
}

void chunk_history::forget_ranks_from(std::uint32_t first) {
  std::erase_if(written, [&](const auto& entry) {
    return entry.first.rank >= first && !at.contains(entry.first);
  });
}

chunk_history::contains chunk_history::updates_in(const version& found) const {
  return [this, count = found.updates](const update& pushed) {
    const auto place = at.find(pushed);
    return place != at.end() && place->second < count;
  };
}

std::pair<chunk_history::version, std::set<update>> chunk_history::ghost_of(
    const version& found) const {
  std::set<update> with;
  for (const auto& [pushed, place] : at)
    if (place < found.updates) with.insert(pushed);
  return {found, std::move(with)};
}

}  // namespace tidegate::sim
