// A part of the way that bytes take: a direction of a link, or a process that sums.
//
// Transfers are not followed chunk by chunk. Each is known by two moments, when its first chunk
// is there and when its last one is, and a stage turns the moments at its entry into those at
// its exit: the next stage works on the first chunks while this one still has the last. A stage
// never idles while it has work. What is under way shares it chunk by chunk, so that a first
// chunk waits for one chunk of each of the others; who came first has its last chunk first,
// which under equal sizes is what fair sharing does, too. One thread.
#pragma once

#include <algorithm>

namespace tidegate::sim::scale {

struct passage {
  double first = 0;  // seconds
  double last = 0;

  passage after(double delay) const noexcept { return {first + delay, last + delay}; }
};

// Both are there.
inline passage later(const passage& entry, const passage& other) noexcept {
  return {std::max(entry.first, other.first), std::max(entry.last, other.last)};
}

class stage {
 public:
  // `work`: seconds for all of the transfer; `piece`: of it, for one chunk.
  passage pass(const passage& in, double work, double piece) noexcept {
    free_ = std::max(in.first, free_) + work;
    busy_ += work;
    const auto round = work > 0 ? piece * (free_ - in.first) / work : 0;
    return {in.first + round, std::max(in.last + piece, free_)};
  }
  double busy() const noexcept { return busy_; }

 private:
  double free_ = 0;
  double busy_ = 0;
};

}  // namespace tidegate::sim::scale
