// Assertions that stay on in release: a broken invariant ends the process with place and
// reason.
#pragma once

namespace tidegate::runtime {

// Prints to stderr and aborts.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line,
                                   const char* why) noexcept;

}  // namespace tidegate::runtime

#define TIDEGATE_ASSERT(condition, why)                                           \
  do {                                                                            \
    if (!(condition)) [[unlikely]]                                                \
      ::tidegate::runtime::assertion_failed(#condition, __FILE__, __LINE__, why); \
  } while (false)
