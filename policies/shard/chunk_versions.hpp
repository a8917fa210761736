// The versions of one chunk's parameters, and the planes in which they lie: the current one,
// the few before it that are kept, and how many readers each plane has. A plane that has a
// reader is not written. Plain numbers; the memory is the shell's.
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

// The planes that a chunk is received into which its primary hands over: the current version,
// and the i-th of those that are kept.
inline constexpr std::uint32_t seed_plane = 0;
constexpr std::uint32_t kept_plane(std::size_t i) {
  return 1 + static_cast<std::uint32_t>(i);
}

class chunk_versions {
 public:
  struct kept_version {
    std::uint32_t plane = no_plane;
    std::uint64_t version = 0;
  };

  chunk_versions() = default;
  // `workers`: as many may read at a time. `keeps`: so many versions are kept beside the
  // current one, versions_kept_max at most.
  chunk_versions(std::uint32_t workers, std::uint32_t keeps);

  std::uint32_t plane() const noexcept { return plane_; }
  std::uint64_t version() const noexcept { return version_; }
  // Returns true if anybody may read that plane.
  bool is_read(std::uint32_t plane) const { return plane == plane_ || has_reader(plane); }
  bool has_reader(std::uint32_t plane) const {
    return plane < readers_.size() && readers_[plane] > 0;
  }
  // Returns the versions that are kept, the newest first; those without a plane are unused.
  const std::array<kept_version, versions_kept_max>& kept() const noexcept { return kept_; }
  // Returns a version that is kept, or null.
  const kept_version* find_kept(std::uint64_t version) const;

  void add_reader(std::uint32_t plane) { ++readers_[plane]; }
  void remove_reader(std::uint32_t plane) { --readers_[plane]; }
  // Returns a plane for the next version: the current one if nobody reads it.
  std::uint32_t free_plane();

  // Says which version the current plane has, of a chunk that begins or goes on elsewhere.
  void begin_at(std::uint64_t version) { version_ = version; }
  // Keeps the current version where versions are kept; the oldest that is kept goes.
  void keep_current();
  // The next version is the current one, and lies in `plane`.
  void advance(std::uint32_t plane);
  // Another version, which has come from elsewhere, is the current one.
  void replace(std::uint32_t plane, std::uint64_t version);
  // This version lies in seed_plane, and `kept`, the newest first, in planes kept_plane(i);
  // nothing else is kept any more.
  void take_over(std::uint64_t version, std::span<const std::uint64_t> kept);

 private:
  void keep(std::uint32_t plane, std::uint64_t version);

  std::uint32_t workers_ = 0;
  std::uint32_t keeps_ = 0;
  std::uint32_t plane_ = 0;
  std::uint64_t version_ = 0;
  std::array<kept_version, versions_kept_max> kept_;
  std::vector<std::uint32_t> readers_;  // by plane
};

}  // namespace tidegate::policies::sharding
