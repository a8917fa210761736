// What a coordinator says to shards and aggregators, unless another has taken its place: the
// words of a dead one may lie in a socket until after those of its successor, who has said the
// same anew where it still holds.
#pragma once

#include <memory>
#include <utility>

#include <caf/all.hpp>

#include "actors/control/coordinator_locator.hpp"
#include "actors/control/errors.hpp"

namespace tidegate::actors {

// `handle` as a handler of calls for the behaviour of `self`. `place`: null in tests that are
// one process.
template <class Self, class Answer, class Call>
auto from_coordinator(Self* self, std::shared_ptr<coordinator_locator> place,
                      Answer (Self::*handle)(const Call&)) {
  return [self, place = std::move(place), handle](const Call& call) -> Answer {
    if (place && place->is_former(self->current_sender()))
      return to_error({runtime::errc::unavailable, "another coordinator has taken its place"});
    return (self->*handle)(call);
  };
}

}  // namespace tidegate::actors
