// What a shell answers to a call, as CAF returns it.
#pragma once

#include <utility>

#include <caf/all.hpp>

#include "actors/control/errors.hpp"
#include "actors/control/messages.hpp"

namespace tidegate::actors {

template <class Value>
caf::result<Value> to_result(runtime::expected<Value> answer) {
  if (!answer) return to_error(answer.error());
  return std::move(*answer);
}

inline caf::result<done_atom> to_result(const runtime::status& answer) {
  if (!answer.ok()) return to_error(answer);
  return done_atom::value;
}

}  // namespace tidegate::actors
