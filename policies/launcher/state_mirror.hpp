// What the launcher keeps of a worker's state, beside the memory on the worker's host: versions
// that were copied before the push left after which a successor would resume there. So a
// worker whose host is lost goes on elsewhere with the newest version that is copied of a clock
// up to its own. A value; one thread.
#pragma once

#include <cstdint>
#include <optional>

#include "policies/model/state_image.hpp"

namespace tidegate::policies {

class state_mirror {
 public:
  // The worker has had no state before its next process begins.
  void begin_anew() { image_ = {.has_history = true}; }
  // Takes what was copied, of which `versions` are new. In an epoch that begins, all others go:
  // the job comes to their clocks anew, and the first copy has the version at which the worker
  // goes on. Otherwise versions stay that the memory has overwritten, as those after them may
  // not have been copied.
  void take(state_image image);
  // Returns the latest clock of a version that is here.
  std::optional<std::uint64_t> newest_clock() const;
  // Returns what another host is to begin with.
  const state_image& image() const noexcept { return image_; }

 private:
  state_image image_;
};

}  // namespace tidegate::policies
