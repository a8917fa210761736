// Places for tables in shared segments: each place exists once per copy, at the same
// offset.
//
// Copies are versions of the same things: the two halves of a worker's gradients, the versions
// of a shard's parameters. Small tables share pages, large ones start on huge pages. Places are
// not given back before the arena goes, their pages may be. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.hpp"
#include "runtime/memory/segment.hpp"

namespace tidegate::runtime {

// A place as another process sees it: copy p is at offset + p * copy_bytes
// of the segment.
struct shm_handle {
  segment_name segment;
  std::uint64_t copy_bytes = 0;
  std::uint64_t offset = 0;

  friend bool operator==(const shm_handle&, const shm_handle&) = default;
};

class arena {
 public:
  struct place {
    std::uint32_t segment = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };

  // `copies` >= 1 of every place; address space for all is taken at once, memory when
  // used.
  arena(std::string label, std::uint32_t copies) : label_(std::move(label)), copies_(copies) {}

  // bytes >= 1; zeroed. Copy 0 is prepared. Errors: io_error.
  expected<place> allocate(std::size_t bytes);
  // Likewise, but no copy is prepared.
  expected<place> reserve(std::size_t bytes);
  // Makes the pages of one more copy.
  void prepare(const place& where, std::uint32_t copy) const;
  // Makes the pages of a piece of it, and of the place around it as far as huge pages reach.
  void prepare_piece(const place& where, std::uint32_t copy, std::size_t offset,
                     std::size_t bytes) const;
  // Gives the pages of all copies back; the place is zero then.
  void discard(const place& where) const;
  std::byte* at(const place& where, std::uint32_t copy) const;
  shm_handle name(const place& where) const;
  std::uint32_t copies() const noexcept { return copies_; }

 private:
  struct part {
    segment memory;
    std::size_t copy_bytes = 0;
    std::size_t used = 0;
  };

  std::string label_;
  std::uint32_t copies_;
  std::vector<part> parts_;
};

}  // namespace tidegate::runtime
