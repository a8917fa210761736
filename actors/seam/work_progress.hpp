// How far work has come that a shell's memory begins and that goes on by itself, as a device's
// does. Pieces of it are numbered as they begin, and end in that order. Memory of the host has
// none. One thread, the home's.
#pragma once

#include <cstdint>

#include "runtime/base/assert.hpp"

namespace tidegate::actors {

class work_progress {
 public:
  class listener {
   public:
    virtual ~listener() = default;
    // Work has begun where there was none: it is to be looked at every turn.
    virtual void work_begun() = 0;
  };

  std::uint64_t begun() const noexcept { return begun_; }  // the last piece; 0: none yet
  std::uint64_t ended() const noexcept { return ended_; }  // likewise
  bool is_idle() const noexcept { return begun_ == ended_; }

  // It outlives this, or is taken back with nullptr.
  void set_listener(listener* to) noexcept { listener_ = to; }
  // For the memory. Pieces up to this one have begun.
  void begin(std::uint64_t last) {
    const bool was_idle = is_idle();
    begun_ = last;
    if (was_idle && !is_idle() && listener_ != nullptr) listener_->work_begun();
  }
  // Pieces up to this one have ended.
  void end(std::uint64_t last) {
    TIDEGATE_ASSERT(ended_ <= last && last <= begun_, "work ends in order, after its begin");
    ended_ = last;
  }

 private:
  std::uint64_t begun_ = 0;
  std::uint64_t ended_ = 0;
  listener* listener_ = nullptr;
};

}  // namespace tidegate::actors
