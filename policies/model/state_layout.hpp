// How much memory the state of a worker takes that outlives its process, and the little that
// the agent of the host, which owns the memory, writes there.
// policies/worker/state_versions.hpp lays out the rest. Constants, any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tidegate::policies {

// What a worker may keep when its job does not say (jobs.*.state.max), in bytes.
inline constexpr std::uint64_t default_state_bytes = 1U << 20U;
inline constexpr std::uint64_t state_bytes_min = 1U << 12U;
inline constexpr std::uint64_t state_bytes_max = 1ULL << 40U;

inline constexpr std::size_t state_head_bytes = 4096;
inline constexpr std::size_t state_slot_head_bytes = 64;
// Versions that lie in the memory: three that may be needed while a fourth is written.
inline constexpr std::size_t state_slots = 4;

// Returns how many bytes the memory has for versions of at most `version_bytes`, a multiple of
// 8. Pages that no version has come to are not there.
constexpr std::size_t state_memory_bytes(std::size_t version_bytes) noexcept {
  return state_head_bytes + state_slots * (state_slot_head_bytes + version_bytes);
}

// Returns the largest versions that memory of this size has room for.
constexpr std::size_t state_version_bytes(std::size_t memory_bytes) noexcept {
  constexpr auto heads = state_memory_bytes(0);
  return memory_bytes < heads ? 0 : (memory_bytes - heads) / state_slots / 8 * 8;
}

// A word that is 1 in memory whose worker had no state before it got this memory. In other
// fresh memory it is 0: the worker's state, if it had any, is gone.
inline constexpr std::size_t state_history_offset = 8;

}  // namespace tidegate::policies
