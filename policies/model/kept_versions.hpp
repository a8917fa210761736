// How many versions of a chunk's parameters a shard has memory for. Pure, any thread.
#pragma once

#include <cstdint>

#include "policies/model/spec.hpp"

namespace tidegate::policies {

// Versions of a chunk that are kept beside the current one: as many as a replica may be behind.
inline constexpr std::uint32_t versions_kept_max = 2;

// Returns how many versions beside the current one a shard keeps for workers that come back:
// only with exact versions, where such a worker may have pushed a clock to some chunks and
// needs that clock's version of all. With replicas it is one more, because a replica may be two
// behind.
inline std::uint32_t versions_kept(const consistency_spec& consistency, bool workers_come_back,
                                   bool replicated) noexcept {
  if (!workers_come_back || !traits_of(consistency.kind).has_exact_versions) return 0;
  return replicated ? versions_kept_max : 1;
}

// Returns how many version buffers the versions of a chunk need at most: each worker reads two,
// one of them perhaps in place; one is current, versions_kept_max are kept, and one is written.
constexpr std::uint32_t version_buffers_max(std::uint32_t workers) noexcept {
  return 2 * workers + 2 + versions_kept_max;
}

}  // namespace tidegate::policies
