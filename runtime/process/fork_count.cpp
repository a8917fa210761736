#include "runtime/process/fork_count.hpp"

#include <atomic>
#include <pthread.h>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime {

namespace {

std::atomic<std::uint32_t> forks{0};

bool count_forks() {
  const auto error = pthread_atfork(nullptr, nullptr, [] { ++forks; });
  TIDEGATE_ASSERT(error == 0, "a handler of forks can be added");
  return true;
}

}  // namespace

std::uint32_t fork_count() {
  static const bool counting = count_forks();
  static_cast<void>(counting);
  return forks.load(std::memory_order_relaxed);
}

}  // namespace tidegate::runtime
