// A descriptor that becomes readable once, after a pause. One thread.
#pragma once

#include <cstdint>

#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::runtime {

class pause_timer {
 public:
  // Errors: over_limit (no descriptor is left).
  status open();
  int fd() const { return fd_.get(); }
  bool runs() const { return runs_; }
  void start(std::uint32_t pause_ms);
  // Returns true once, when the pause is over; the timer then stands still.
  bool over();

 private:
  unique_fd fd_;
  bool runs_ = false;
};

}  // namespace tidegate::runtime
