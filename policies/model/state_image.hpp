// A worker's state as it leaves its host: what the launcher keeps of it in case the host is
// lost, and what another host begins with. policies/worker/state_versions.hpp makes images of
// the worker's memory, and memory of images. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tidegate::policies {

// A version of the state: that of the beginning of `clock`. Among versions of one clock the one
// with the largest number counts.
struct state_version {
  std::uint64_t number = 0;  // from 1
  std::uint64_t clock = 0;
  std::uint64_t checksum = 0;
  std::vector<std::byte> bytes;

  friend bool operator==(const state_version&, const state_version&) = default;
};

struct state_image {
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  std::uint64_t epoch = 0;  // of the run, in which a process has resumed last; 0: none has
  bool has_history = false;
  std::uint64_t known_from = never;  // the clock from which on it is known what was kept
  std::uint64_t begun = never;       // the clock of the first version
  std::vector<state_version> versions;

  friend bool operator==(const state_image&, const state_image&) = default;
};

// The most that a worker may keep that is copied: a message of an agent has it whole.
inline constexpr std::uint64_t mirrored_state_bytes_max = std::uint64_t{16} << 20U;
inline constexpr std::uint64_t state_mirror_every_max = 1'000'000;

}  // namespace tidegate::policies
