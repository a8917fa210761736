#include "policies/shard/chunk_versions.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/buggify.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::policies::sharding {

using runtime::is_planted;
using runtime::planted_bug;

chunk_versions::chunk_versions(std::uint32_t workers, std::uint32_t keeps)
    : workers_(workers), keeps_(keeps) {
  readers_.reserve(planes_max(workers));
  readers_.push_back(0);
}

const chunk_versions::kept_version* chunk_versions::find_kept(std::uint64_t version) const {
  for (const auto& kept : kept_)
    if (kept.plane != no_plane && kept.version == version) return &kept;
  return nullptr;
}

std::uint32_t chunk_versions::free_plane() {
  if (is_planted(planted_bug::lease_ignored)) return plane_;
  const bool moves = TIDEGATE_BUGGIFY("shard: a step changes planes");
  if (moves) ++readers_[plane_];  // as if
  const auto found = readers_[plane_] == 0 ? readers_.begin() + plane_
                                           : std::find(readers_.begin(), readers_.end(), 0U);
  const auto plane = static_cast<std::uint32_t>(found - readers_.begin());
  if (found == readers_.end()) readers_.push_back(0);
  if (moves) --readers_[plane_];
  TIDEGATE_ASSERT(plane < planes_max(workers_), "readers are bounded");
  return plane;
}

void chunk_versions::keep_current() {
  if (keeps_ > 0) keep(plane_, version_);
}

// A version that is kept counts as a reader, so that no step writes there.
void chunk_versions::keep(std::uint32_t plane, std::uint64_t version) {
  const auto last = is_planted(planted_bug::older_version_not_kept) ? 0 : keeps_ - 1;
  if (kept_[last].plane != no_plane) --readers_[kept_[last].plane];
  std::copy_backward(kept_.begin(), kept_.begin() + last, kept_.begin() + last + 1);
  kept_[0] = {plane, version};
  ++readers_[plane];
}

void chunk_versions::advance(std::uint32_t plane) {
  plane_ = plane;
  ++version_;
}

void chunk_versions::replace(std::uint32_t plane, std::uint64_t version) {
  plane_ = plane;
  version_ = version;
}

void chunk_versions::take_over(std::uint64_t version, std::span<const std::uint64_t> kept) {
  replace(seed_plane, version);
  for (auto& old : std::exchange(kept_, {}))
    if (old.plane != no_plane) --readers_[old.plane];
  // The oldest first.
  for (auto i = std::min<std::size_t>(kept.size(), keeps_); i-- > 0;) {
    if (readers_.size() <= kept_plane(i)) readers_.resize(kept_plane(i) + 1, 0);
    keep(kept_plane(i), kept[i]);
  }
}

}  // namespace tidegate::policies::sharding
