// When a shell looks at what it waits for: every few milliseconds while it mends connections
// that broke, and now and then where the link loses frames, so that it asks again for what has
// not been answered. Otherwise never: nothing is lost while a connection lives. One thread.
#pragma once

#include <utility>

#include "actors/seam/shell_home.hpp"

namespace tidegate::actors {

class look_schedule {
 public:
  explicit look_schedule(shell_home& home) : home_(home) {}

  // One look is on its way at most. waits(): for answers that may have been lost.
  template <class Waits>
  void ask(bool mends, const Waits& waits) {
    if (asked_ || (!mends && !(home_.link().loses_frames() && waits()))) return;
    asked_ = true;
    home_.look_in(mends ? home_.limits().look_mending_ns : home_.limits().look_lossy_ns);
  }
  void came() noexcept { asked_ = false; }

 private:
  shell_home& home_;
  bool asked_ = false;
};

}  // namespace tidegate::actors
