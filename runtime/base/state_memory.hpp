// The memory that outlives a worker's process, as the core that lays out versions in it sees it
// (policies/worker/state_versions.hpp). The agent of the worker's host owns the memory; one
// process at a time writes it, and may be killed in the middle of any write. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.hpp"

namespace tidegate::runtime {

class state_memory {
 public:
  virtual ~state_memory() = default;

  // All of it; zero where nothing was written. Valid as long as this.
  virtual std::span<const std::byte> bytes() const = 0;
  // Makes sure that [offset, offset + length) can be written, so that write() finds room.
  // Errors: no_space (the machine has no memory left); nothing has changed then.
  virtual status reserve(std::size_t offset, std::size_t length) = 0;
  // Writes these bytes. A process that is killed meanwhile leaves any part of them behind.
  virtual void write(std::size_t offset, std::span<const std::byte> bytes) = 0;
  // Writes a word at a multiple of 8: whole or not at all, after every write before it and
  // before every write after it.
  virtual void store(std::size_t offset, std::uint64_t word) = 0;
};

}  // namespace tidegate::runtime
