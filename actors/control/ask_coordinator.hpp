// A question to the coordinator that fails when the coordinator goes. A request alone does not:
// of one whose answer cannot come any more CAF tells nobody before its time is up.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <caf/all.hpp>

#include "actors/control/errors.hpp"
#include "actors/control/interrupt_check.hpp"
#include "actors/control/messages.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::actors {

// As long as the coordinator lives: one that hangs is ended by its launcher.
inline const caf::duration no_limit{caf::infinite};

// Blocks until the coordinator answers, is gone, `limit` is over, or `interrupted` says so;
// tells the log after two seconds what it waits for. Errors: unavailable (it is gone),
// timed_out, cancelled (interrupted; nobody waits for the answer then), those of the
// coordinator.
template <class T, class... Ts>
runtime::expected<T> ask_unless(interrupt_check& interrupted, caf::scoped_actor& self,
                                const coordinator_actor& actor, const caf::duration& limit,
                                const std::string& doing, const Ts&... xs) {
  const auto asker = self->spawn([=](caf::event_based_actor* me) -> caf::behavior {
    auto promise = std::make_shared<caf::typed_response_promise<T>>();
    me->monitor(actor);
    me->delayed_send(me, std::chrono::seconds(2), look_atom::value);
    const auto gone = caf::make_error(caf::sec::request_receiver_down);
    me->set_down_handler([=](const caf::down_msg&) {
      promise->deliver(gone);
      me->quit();
    });
    return {[=](look_atom) { runtime::log::info("waits for the coordinator: " + doing); },
            [=](done_atom) -> caf::result<T> {
              *promise = me->make_response_promise<T>();
              me->request(actor, limit, xs...)
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
  using clock = std::chrono::high_resolution_clock;
  auto question = self->request(asker, no_limit, done_atom::value);
  while (interrupted.is_set() && !self->await_data(clock::now() + interrupt_check::interval))
    if (interrupted()) {
      // The process ends only when all its actors have.
      self->send_exit(asker, caf::exit_reason::user_shutdown);
      return runtime::fail(interrupt_check::status_of(doing));
    }
  question.receive([&](T& value) { result = std::move(value); },
                   [&](caf::error& why) { result = runtime::fail(to_status(why, doing)); });
  return result;
}

// Likewise; nothing interrupts it.
template <class T, class... Ts>
runtime::expected<T> ask_coordinator(caf::scoped_actor& self, const coordinator_actor& actor,
                                     const caf::duration& limit, const std::string& doing,
                                     const Ts&... xs) {
  interrupt_check never;
  return ask_unless<T>(never, self, actor, limit, doing, xs...);
}

}  // namespace tidegate::actors
