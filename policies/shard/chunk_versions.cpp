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
  readers_.push_back(0);
}

const chunk_versions::kept_version* chunk_versions::find_kept(std::uint64_t version) const {
  for (const auto& kept : kept_)
    if (kept.version_buffer != no_version_buffer && kept.version == version) return &kept;
  return nullptr;
}

std::uint32_t chunk_versions::free_version_buffer() {
  if (is_planted(planted_bug::lease_ignored)) return version_buffer_;
  const bool moves = TIDEGATE_BUGGIFY("shard: a step changes planes");
  if (moves) ++readers_[version_buffer_];  // as if
  const auto found = readers_[version_buffer_] == 0
                         ? readers_.begin() + version_buffer_
                         : std::find(readers_.begin(), readers_.end(), 0U);
  const auto version_buffer = static_cast<std::uint32_t>(found - readers_.begin());
  if (found == readers_.end()) readers_.push_back(0);
  if (moves) --readers_[version_buffer_];
  TIDEGATE_ASSERT(version_buffer < version_buffers_max(workers_), "readers are bounded");
  return version_buffer;
}

void chunk_versions::keep_current() {
  if (keeps_ > 0) keep(version_buffer_, version_);
}

// A version that is kept counts as a reader, so that no step writes there.
void chunk_versions::keep(std::uint32_t version_buffer, std::uint64_t version) {
  const auto last = is_planted(planted_bug::older_version_not_kept) ? 0 : keeps_ - 1;
  if (kept_[last].version_buffer != no_version_buffer) --readers_[kept_[last].version_buffer];
  std::copy_backward(kept_.begin(), kept_.begin() + last, kept_.begin() + last + 1);
  kept_[0] = {version_buffer, version};
  ++readers_[version_buffer];
}

void chunk_versions::advance(std::uint32_t version_buffer) {
  version_buffer_ = version_buffer;
  ++version_;
}

void chunk_versions::replace(std::uint32_t version_buffer, std::uint64_t version) {
  version_buffer_ = version_buffer;
  version_ = version;
}

void chunk_versions::take_over(std::uint64_t version, std::span<const std::uint64_t> kept) {
  replace(seed_buffer, version);
  for (auto& old : std::exchange(kept_, {}))
    if (old.version_buffer != no_version_buffer) --readers_[old.version_buffer];
  // The oldest first.
  for (auto i = std::min<std::size_t>(kept.size(), keeps_); i-- > 0;) {
    if (readers_.size() <= kept_buffer(i)) readers_.resize(kept_buffer(i) + 1, 0);
    keep(kept_buffer(i), kept[i]);
  }
}

}  // namespace tidegate::policies::sharding
