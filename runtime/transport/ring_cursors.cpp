#include "runtime/transport/ring_cursors.hpp"

#include <utility>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime {

status cursor_page::open() {
  auto memory =
      segment::create("tidegate-cursors", cursor_page_view::bytes, segment::pages::small);
  if (!memory) return memory.error();
  memory_ = std::move(*memory);
  for (auto slot = cursor_page_view::slots; slot > 0; --slot) free_slots_.push_back(slot - 1);
  return {};
}

std::uint32_t cursor_page::take_slot() noexcept {
  TIDEGATE_ASSERT(!is_full(), "a free slot");
  const auto slot = free_slots_.back();
  free_slots_.pop_back();
  view().read(slot).store(0, std::memory_order_relaxed);
  return slot;
}

void cursor_page::sleep(bool patient) noexcept {
  sleeps_ += 2;
  if (sleeps_ == 0) sleeps_ = 2;
  view().asleep().store(sleeps_ + (patient ? 1 : 0), std::memory_order_relaxed);
  asleep_ = true;
}

void cursor_page::rise() noexcept {
  asleep_ = false;
  view().asleep().store(0, std::memory_order_relaxed);
}

}  // namespace tidegate::runtime
