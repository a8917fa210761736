#include "runtime/base/launch_variables.hpp"

#include <cstdlib>
#include <utility>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime {

namespace {

// The environment itself stays: other threads of the program may read it.
launch_variables& taken() {
  static launch_variables variables;
  return variables;
}

}  // namespace

const char* launch_variable(const char* name) noexcept {
  const auto at = taken().find(name);
  return at == taken().end() ? std::getenv(name) : at->second.c_str();
}

void take_launch_variables(launch_variables all) {
  TIDEGATE_ASSERT(taken().empty(), "a process takes one place");
  taken() = std::move(all);
}

const launch_variables& taken_launch_variables() noexcept {
  return taken();
}

}  // namespace tidegate::runtime
