// A question to the coordinator that fails when the coordinator goes. A request alone does not:
// of one whose answer cannot come any more CAF tells nobody before its time is up.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <caf/all.hpp>

#include "actors/errors.hpp"
#include "actors/messages.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::actors {

// Blocks. Errors: unavailable (it is gone), timed_out, those of the coordinator.
template <class T, class... Ts>
runtime::expected<T> ask_coordinator(caf::scoped_actor& self, const coordinator_actor& whom,
                                     std::chrono::milliseconds patience,
                                     const std::string& doing, const Ts&... xs) {
  const auto asker = self->spawn([=](caf::event_based_actor* me) -> caf::behavior {
    auto promise = std::make_shared<caf::typed_response_promise<T>>();
    me->monitor(whom);
    const auto gone = caf::make_error(caf::sec::request_receiver_down);
    me->set_down_handler([=](const caf::down_msg&) {
      promise->deliver(gone);
      me->quit();
    });
    return {[=](done_atom) -> caf::result<T> {
      *promise = me->make_response_promise<T>();
      me->request(whom, patience, xs...)
          .then(
              [=](T& value) {
                promise->deliver(std::move(value));
                me->quit();
              },
              [=](caf::error& why) {
                promise->deliver(std::move(why));
                me->quit();
              });
      return *promise;
    }};
  });
  runtime::expected<T> result = runtime::fail(runtime::errc::unavailable, doing);
  self->request(asker, 2 * patience, done_atom::value)
      .receive([&](T& value) { result = std::move(value); },
               [&](caf::error& why) { result = runtime::fail(to_status(why, doing)); });
  return result;
}

}  // namespace tidegate::actors
