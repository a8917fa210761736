// Places for tables in shared segments: each place exists once per plane, at the same offset.
//
// Planes are versions of the same things: the two halves of a worker's gradients, the versions
// of a shard's parameters. Small tables share pages, large ones start on huge pages. Nothing is
// given back before the arena goes. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.hpp"
#include "runtime/memory/segment.hpp"

namespace tidegate::runtime {

// A place as another process sees it: plane p is at offset + p * plane_bytes of the segment.
struct place_name {
  segment_name segment;
  std::uint64_t plane_bytes = 0;
  std::uint64_t offset = 0;

  friend bool operator==(const place_name&, const place_name&) = default;
};

class arena {
 public:
  struct place {
    std::uint32_t segment = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };

  // `planes` >= 1 of every place; address space for all is taken at once, memory when used.
  arena(std::string label, std::uint32_t planes) : label_(std::move(label)), planes_(planes) {}

  // bytes >= 1; zeroed. Plane 0 is prepared. Errors: io_error.
  expected<place> allocate(std::size_t bytes);
  // Makes the pages of one more plane.
  void prepare(const place& where, std::uint32_t plane) const;
  std::byte* at(const place& where, std::uint32_t plane) const;
  place_name name(const place& where) const;
  std::uint32_t planes() const noexcept { return planes_; }

 private:
  struct part {
    segment memory;
    std::size_t plane_bytes = 0;
    std::size_t used = 0;
  };

  std::string label_;
  std::uint32_t planes_;
  std::vector<part> parts_;
};

}  // namespace tidegate::runtime
