// What a simulated device has been asked for and has not done yet: pieces of work that take
// effect in their order, each some looks after it was begun, and are told of later still. One
// thread.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>

#include "actors/seam/work_progress.hpp"
#include "launch/simulate/cluster/draws.hpp"

namespace tidegate::sim {

class device_work {
 public:
  // Both outlive it.
  device_work(draws& chance, actors::work_progress& progress)
      : chance_(chance), progress_(progress) {}

  // `effect` is called when the piece takes effect.
  void begin(std::function<void()> effect);
  // Lets time pass: some pieces take effect, and some that have are told of.
  void look();

 private:
  void carry_out_next();

  draws& chance_;
  actors::work_progress& progress_;
  std::deque<std::function<void()>> pieces_;  // that have not taken effect
};

}  // namespace tidegate::sim
