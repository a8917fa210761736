// What a worker asks to be copied from its host to the launcher: what its memory says of the
// versions of its state, and the version of a clock, if there is one. A plain value.
#pragma once

#include <cstdint>

namespace tidegate::runtime {

struct mirror_request {
  std::uint64_t number = 0;   // counts the requests of a process from 1
  std::uint64_t version = 0;  // its clock

  friend bool operator==(const mirror_request&, const mirror_request&) = default;
};

}  // namespace tidegate::runtime
