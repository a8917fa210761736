// What the launcher keeps of a worker's state, beside the memory on the worker's host: versions
// that were copied before the push left after which a successor would resume there. So a
// worker whose host is lost goes on elsewhere with the newest version that is copied of a clock
// up to its own. A value; one thread.
#pragma once

#include "policies/model/state_image.hpp"

namespace tidegate::policies {

class state_mirror {
 public:
  // Takes what was copied, of which `versions` are new. In an epoch that begins, what the
  // worker's memory has no more goes: the job comes to those clocks anew. Otherwise versions
  // stay that the memory has overwritten, as those after them may not have been copied.
  void take(state_image image);
  // Returns what another host is to begin with.
  const state_image& image() const noexcept { return image_; }

 private:
  state_image image_;
};

}  // namespace tidegate::policies
