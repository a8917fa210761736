// What a shell answers to a call, as CAF returns it.
#pragma once

#include <type_traits>
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

// The same for a call that is answered later.
template <class Value, class Answer>
void deliver(caf::typed_response_promise<Value>& promise, Answer&& answer) {
  if constexpr (std::is_same_v<std::decay_t<Answer>, runtime::status>)
    answer.ok() ? promise.deliver(done_atom::value) : promise.deliver(to_error(answer));
  else if constexpr (std::is_same_v<std::decay_t<Answer>, runtime::expected<Value>>)
    answer ? promise.deliver(std::move(*answer)) : promise.deliver(to_error(answer.error()));
  else
    promise.deliver(std::forward<Answer>(answer));
}

}  // namespace tidegate::actors
