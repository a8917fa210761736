#include "runtime/base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace tidegate::runtime {

void assertion_failed(const char* expression, const char* file, int line,
                      const char* why) noexcept {
  std::fprintf(stderr, "%s:%d: assertion failed: %s (%s)\n", file, line, expression, why);
  std::fflush(stderr);
  std::abort();
}

}  // namespace tidegate::runtime
