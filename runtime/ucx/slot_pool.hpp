// Slots of one kind that are kept and used again, of this folder alone: UCX holds the address
// of one from post to completion. Grows when all are out; from then on nothing is allocated.
// One thread.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

namespace tidegate::runtime {

// `Slot` has a pointer `owner`, which each gets once.
template <class Slot, class Owner>
class slot_pool {
 public:
  explicit slot_pool(Owner* owner) : owner_(owner) {}

  Slot& take() {
    if (free_.empty()) {
      free_.reserve(slots_.size() + 1);
      free_.push_back(&slots_.emplace_back());
      free_.back()->owner = owner_;
    }
    auto* slot = free_.back();
    free_.pop_back();
    return *slot;
  }
  void give_back(Slot& slot) { free_.push_back(&slot); }

  std::size_t out() const noexcept { return slots_.size() - free_.size(); }
  std::deque<Slot>& all() noexcept { return slots_; }

 private:
  Owner* owner_;
  std::deque<Slot> slots_;
  std::vector<Slot*> free_;
};

}  // namespace tidegate::runtime
