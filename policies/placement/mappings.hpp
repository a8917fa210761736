// Mappings: pieces of memory that the kernel keeps apart for a process, which has at most
// vm.max_map_count of them. A table whose chunks lie on several shards of one host becomes one
// array in a worker by mapping each run of neighbours side by side, in each version. That takes
// many mappings, and so has a budget; a table beyond the budget is read where its shards keep
// it, run by run.
//
// Beyond the kernel's limit even malloc fails, so the budget leaves mappings_reserved for all
// other needs. Pure; a budget belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <span>

#include "policies/placement/placement.hpp"

namespace tidegate::policies {

// Mappings that a process needs besides: of its libraries, threads, heap, rings and windows.
inline constexpr std::uint64_t mappings_reserved = 16'384;

// The versions of a table that are mapped as one array.
inline constexpr std::uint64_t mapped_versions = 3;

// Returns how many mappings make one array of these chunks in all versions, one for each run of
// neighbours on one shard. 0: the table is on one shard, where it is one array already.
std::uint64_t mappings_of_array(std::span<const chunk_place> places);

// The mappings that a process has left. Tables keep the mappings that they take, as they are
// never closed.
class mapping_budget {
 public:
  // `limit` is vm.max_map_count.
  explicit constexpr mapping_budget(std::uint64_t limit) noexcept
      : left_(limit > mappings_reserved ? limit - mappings_reserved : 0) {}

  // Takes so many mappings. Returns false, and takes none, if fewer are left.
  constexpr bool take(std::uint64_t mappings) noexcept {
    if (mappings > left_) return false;
    left_ -= mappings;
    return true;
  }
  constexpr std::uint64_t left() const noexcept { return left_; }

 private:
  std::uint64_t left_;
};

}  // namespace tidegate::policies
