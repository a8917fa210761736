// The versions of one chunk's parameters, and the version buffers in which they lie: the
// current one, the few before it that are kept, and how many readers each version buffer has. A
// version buffer that has a reader is not written. Plain numbers; the memory is the shell's.
//
// One thread. Once warm, nothing allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policies/model/kept_versions.hpp"
#include "policies/protocol/frame_tag.hpp"

namespace tidegate::policies::sharding {

// The version buffers that a chunk is received into which its primary hands over: the current
// version, and the i-th of those that are kept.
inline constexpr std::uint32_t seed_buffer = 0;
constexpr std::uint32_t kept_buffer(std::size_t i) {
  return 1 + static_cast<std::uint32_t>(i);
}

class chunk_versions {
 public:
  struct kept_version {
    std::uint32_t version_buffer = no_version_buffer;
    std::uint64_t version = 0;
  };

  chunk_versions() = default;
  // `workers`: as many may read at a time. `keeps`: so many versions are kept beside the
  // current one, versions_kept_max at most.
  chunk_versions(std::uint32_t workers, std::uint32_t keeps);

  std::uint32_t version_buffer() const noexcept { return version_buffer_; }
  std::uint64_t version() const noexcept { return version_; }
  // Returns true if anybody may read that version buffer.
  bool is_read(std::uint32_t version_buffer) const {
    return version_buffer == version_buffer_ || has_reader(version_buffer);
  }
  bool has_reader(std::uint32_t version_buffer) const {
    return version_buffer < readers_.size() && readers_[version_buffer] > 0;
  }
  // Returns the versions that are kept, the newest first; those without a version buffer are
  // unused.
  const std::array<kept_version, versions_kept_max>& kept() const noexcept { return kept_; }
  // Returns a version that is kept, or null.
  const kept_version* find_kept(std::uint64_t version) const;

  void add_reader(std::uint32_t version_buffer) { ++readers_[version_buffer]; }
  void remove_reader(std::uint32_t version_buffer) { --readers_[version_buffer]; }
  // Returns a version buffer for the next version: the current one if nobody reads it.
  std::uint32_t free_version_buffer();

  // Says which version the current version buffer has, of a chunk that begins or goes on
  // elsewhere.
  void begin_at(std::uint64_t version) { version_ = version; }
  // Keeps the current version where versions are kept; the oldest that is kept goes.
  void keep_current();
  // The next version is the current one, and lies in `version_buffer`.
  void advance(std::uint32_t version_buffer);
  // Another version, which has come from elsewhere, is the current one.
  void replace(std::uint32_t version_buffer, std::uint64_t version);
  // This version lies in seed_buffer, and `kept`, the newest first, in version buffers
  // kept_buffer(i); nothing else is kept any more.
  void take_over(std::uint64_t version, std::span<const std::uint64_t> kept);

 private:
  void keep(std::uint32_t version_buffer, std::uint64_t version);

  std::uint32_t workers_ = 0;
  std::uint32_t keeps_ = 0;
  std::uint32_t version_buffer_ = 0;
  std::uint64_t version_ = 0;
  std::array<kept_version, versions_kept_max> kept_;
  std::vector<std::uint32_t> readers_;  // by version buffer
};

}  // namespace tidegate::policies::sharding
