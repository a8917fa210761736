#include "runtime/base/rare.hpp"

// Made by the linker around the section of that name; weak, as a program may have no mark.
extern "C" {
extern tidegate::runtime::rare_mark __start_tidegate_rare[] __attribute__((weak));
extern tidegate::runtime::rare_mark __stop_tidegate_rare[] __attribute__((weak));
}

namespace tidegate::runtime {

std::span<rare_mark> rare_marks() noexcept {
  return {__start_tidegate_rare, __stop_tidegate_rare};
}

}  // namespace tidegate::runtime
