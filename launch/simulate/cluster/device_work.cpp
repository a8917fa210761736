#include "launch/simulate/cluster/device_work.hpp"

#include <algorithm>
#include <utility>

namespace tidegate::sim {

void device_work::begin(std::function<void()> effect) {
  pieces_.push_back(std::move(effect));
  progress_.begin(progress_.begun() + 1);
}

void device_work::carry_out_next() {
  const auto effect = std::move(pieces_.front());
  pieces_.pop_front();
  effect();
}

void device_work::look() {
  constexpr std::uint64_t pieces_a_look = 4;
  for (auto left = chance_.below(pieces_a_look); left > 0 && !pieces_.empty(); --left)
    carry_out_next();
  const auto effective = progress_.begun() - pieces_.size();
  const auto news = chance_.below(2 * pieces_a_look);
  progress_.end(std::min(effective, progress_.ended() + news));
}

}  // namespace tidegate::sim
