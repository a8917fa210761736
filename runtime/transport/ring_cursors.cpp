#include "runtime/transport/desk.hpp"

#include <utility>

namespace tidegate::runtime {

status desk::open() {
  auto memory = segment::create("tidegate-desk", desk_view::bytes, segment::pages::small);
  if (!memory) return memory.error();
  memory_ = std::move(*memory);
  for (auto slot = desk_view::slots; slot > 0; --slot) free_slots_.push_back(slot - 1);
  return {};
}

std::uint32_t desk::take_slot() noexcept {
  const auto slot = free_slots_.back();
  free_slots_.pop_back();
  view().read(slot).store(0, std::memory_order_relaxed);
  return slot;
}

void desk::sleep(bool patient) noexcept {
  sleeps_ += 2;
  if (sleeps_ == 0) sleeps_ = 2;
  view().asleep().store(sleeps_ + (patient ? 1 : 0), std::memory_order_relaxed);
  asleep_ = true;
}

void desk::rise() noexcept {
  asleep_ = false;
  view().asleep().store(0, std::memory_order_relaxed);
}

}  // namespace tidegate::runtime
