// What a coordinator says to shards and aggregators, unless another has taken its place: the
// words of a dead one may lie in a socket until after those of its successor, who has said the
// same anew where it still holds.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include <caf/all.hpp>

#include "actors/coordinator_place.hpp"
#include "actors/errors.hpp"

namespace tidegate::actors {

// A handler of `Call` for the behaviour of `self`. `place`: null in tests that are one process.
template <class Call, class Self, class Handle>
auto from_coordinator(Self* self, std::shared_ptr<coordinator_place> place, Handle handle) {
  return [self, place = std::move(place), handle = std::move(handle)](
             const Call& call) -> std::invoke_result_t<const Handle&, const Call&> {
    if (place && place->is_former(self->current_sender()))
      return to_error({runtime::errc::unavailable, "another coordinator has taken its place"});
    return handle(call);
  };
}

}  // namespace tidegate::actors
