// Marks of rare branches. A branch that no simulation has ever taken is one that nobody has
// tested: `tidegate simulate` tells which those are.
//
//   if (duplicate) {
//     TIDEGATE_RARE("shard: a push comes twice");
//     ...
//
// A mark costs one load. Not in headers: a mark belongs to one place. Any thread.
#pragma once

#include <atomic>
#include <span>

namespace tidegate::runtime {

struct alignas(32) rare_mark {
  const char* name;
  std::atomic<bool> reached{false};

  void reach() noexcept {
    if (!reached.load(std::memory_order_relaxed))
      reached.store(true, std::memory_order_relaxed);
  }
};

// All marks of the libraries in this program.
std::span<rare_mark> rare_marks() noexcept;

}  // namespace tidegate::runtime

// The linker gathers them, so that a mark is known before it is reached.
#define TIDEGATE_RARE(name)                                                   \
  do {                                                                        \
    [[gnu::section("tidegate_rare"),                                          \
      gnu::used]] static constinit ::tidegate::runtime::rare_mark mark{name}; \
    mark.reach();                                                             \
  } while (false)
