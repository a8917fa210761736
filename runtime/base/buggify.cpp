#include "runtime/base/buggify.hpp"

#include <string_view>

#include "runtime/base/rng.hpp"

// Made by the linker around the section of that name; weak, as a program may have no mark.
extern "C" {
extern tidegate::runtime::forced_mark __start_tidegate_forced[] __attribute__((weak));
extern tidegate::runtime::forced_mark __stop_tidegate_forced[] __attribute__((weak));
}

namespace tidegate::runtime {

namespace {

// Not of its place among the marks, which is the linker's.
std::uint64_t hash_of(std::string_view name) noexcept {
  std::uint64_t hash = 0;
  for (const char c : name) hash = mix64(hash ^ static_cast<unsigned char>(c));
  return hash;
}

}  // namespace

std::span<forced_mark> forced_marks() noexcept {
  return {__start_tidegate_forced, __stop_tidegate_forced};
}

// A quarter of the marks: most of the time, now and then, or seldom.
void draw_forced(std::uint64_t seed) noexcept {
  constexpr std::uint32_t shares[] = {1U << 31U, 1U << 28U, 1U << 25U};
  for (auto& mark : forced_marks()) {
    const auto drawn = mix64(seed ^ hash_of(mark.name));
    const auto index = (drawn >> 8U) % 12;
    mark.share = index < 3 ? shares[index] : 0;
    mark.next = drawn;
  }
}

void clear_forced() noexcept {
  for (auto& mark : forced_marks()) mark.share = 0;
}

bool is_forced(forced_mark& mark) noexcept {
  const auto drawn = mix64(++mark.next) >> 32U;
  if (drawn >= mark.share.load(std::memory_order_relaxed)) return false;
  mark.taken.store(true, std::memory_order_relaxed);
  return true;
}

}  // namespace tidegate::runtime
