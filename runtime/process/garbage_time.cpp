#include "runtime/process/garbage_time.hpp"

#include <atomic>

namespace tidegate::runtime {

namespace {

std::atomic<std::uint64_t> garbage_ns{0};

}  // namespace

void add_garbage_ns(std::uint64_t lasted) noexcept {
  garbage_ns.fetch_add(lasted, std::memory_order_relaxed);
}

std::uint64_t garbage_ns_of_process() noexcept {
  return garbage_ns.load(std::memory_order_relaxed);
}

}  // namespace tidegate::runtime
