// Branches that are legal at any time and seldom taken, which a simulation takes on purpose (as
// FoundationDB's BUGGIFY): work is put off though there is time, what could share a frame does
// not.
//
//   if (TIDEGATE_BUGGIFY("front: work is put off")) break;
//
// True in some simulated clusters, now and then, as their seed draws it; false in everything
// else. Builds without tests have none of it (TIDEGATE_FORCED_BRANCHES is not defined): no
// load, no branch. In others a mark costs one load. Not in headers: a mark belongs to one
// place.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

namespace tidegate::runtime {

struct alignas(32) forced_mark {
  const char* name;
  std::atomic<std::uint32_t> share{0};  // of 2^32: how often it is true; 0: never
  std::atomic<bool> taken{false};
  std::uint64_t next{0};  // of its draws
};

// All marks of the libraries in this program.
std::span<forced_mark> forced_marks() noexcept;
// From now on as this seed draws it, each mark by itself, until clear_forced(). A thread that
// is alone.
void draw_forced(std::uint64_t seed) noexcept;
void clear_forced() noexcept;
// The next draw of a mark.
bool is_forced(forced_mark& mark) noexcept;

}  // namespace tidegate::runtime

#ifdef TIDEGATE_FORCED_BRANCHES
// The linker gathers them, so that a mark is known before it is reached.
#define TIDEGATE_BUGGIFY(name)                                                  \
  ([]() noexcept -> bool {                                                      \
    [[gnu::section("tidegate_forced"),                                          \
      gnu::used]] static constinit ::tidegate::runtime::forced_mark mark{name}; \
    return mark.share.load(std::memory_order_relaxed) != 0 &&                   \
           ::tidegate::runtime::is_forced(mark);                                \
  }())
#else
#define TIDEGATE_BUGGIFY(name) false
#endif
