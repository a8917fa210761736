#include "actors/chunks/joined_work.hpp"

#include <algorithm>

namespace tidegate::actors {

void joined_work::begin(queue of, std::uint64_t last) {
  const auto index = static_cast<std::size_t>(of);
  if (last <= begun_last_[index]) return;
  begun_last_[index] = last;
  begun_.push({.of = index, .last = last});
  into_.begin(into_.begun() + 1);
}

void joined_work::end(queue of, std::uint64_t last) {
  auto& ended = ended_last_[static_cast<std::size_t>(of)];
  ended = std::max(ended, last);
  auto pieces = into_.ended();
  for (; !begun_.empty() && begun_.front().last <= ended_last_[begun_.front().of]; ++pieces)
    begun_.pop();
  into_.end(pieces);
}

void joined_work::begin_endless() {
  begun_.push({.of = 0, .last = never});
  into_.begin(into_.begun() + 1);
}

}  // namespace tidegate::actors
