// Mappings: pieces of memory that the kernel keeps apart for a process, which has at most
// vm.max_map_count of them. A table whose chunks lie on several shards of one host is one array
// in a worker by mapping each run of neighbours side by side, in each version: that is what
// takes many. Within a budget; a table beyond it is read where its shards keep it, run by run.
//
// Beyond the kernel's limit even malloc fails: so what the budget leaves is for all the rest.
// Pure; a budget belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <span>

#include "policies/placement/placement.hpp"

namespace tidegate::policies {

// What a process needs besides: its libraries, threads, heap, rings and windows.
inline constexpr std::uint64_t mappings_reserved = 16'384;

// The versions of a table that are mapped as one array.
inline constexpr std::uint64_t mapped_versions = 3;

// Mappings that make one array of these chunks in all versions: of each run of neighbours on
// one shard. 0: the table is on one shard, where it is one array already.
std::uint64_t mappings_of_array(std::span<const chunk_place> places);

// Of a process; what tables take they keep, as they are never closed.
class mapping_budget {
 public:
  // `limit`: vm.max_map_count.
  explicit constexpr mapping_budget(std::uint64_t limit) noexcept
      : left_(limit > mappings_reserved ? limit - mappings_reserved : 0) {}

  // Returns false, and takes nothing, if there are not so many.
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
