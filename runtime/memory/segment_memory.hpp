// Payload memory that other processes of this host can map: one segment per region.
//
// A region is named to a process that is to read it, which copies out of it at once instead of
// having it passed through a ring. One reactor thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "runtime/memory/memory_source.hpp"
#include "runtime/memory/segment.hpp"

namespace tidegate::runtime {

class segment_memory final : public memory_source {
 public:
  struct name {
    segment_name segment;
    std::uint64_t offset = 0;
  };

  region allocate(std::size_t bytes) override;
  // Where this lies, if it lies in one of the regions.
  std::optional<name> find(std::span<const std::byte> bytes) const noexcept;

 protected:
  void release(std::byte* data, std::size_t size, void* handle) noexcept override;

 private:
  std::map<const std::byte*, segment> segments_;  // by where they begin
  heap_source heap_;
};

}  // namespace tidegate::runtime
