#include "actors/control/session_presence.hpp"

#include <cstdlib>

#include <caf/all.hpp>

#include "actors/control/errors.hpp"
#include "actors/control/messages.hpp"
#include "runtime/base/log.hpp"

namespace tidegate::actors {

namespace {

caf::behavior stand_by(caf::event_based_actor* self) {
  self->set_exit_handler([self](const caf::exit_msg& end) {
    const auto why = to_status(end.reason, "");
    if (why.code() != runtime::errc::refused) return self->quit(end.reason);
    runtime::log::error(why.message() + "; this process ends");
    std::_Exit(EXIT_FAILURE);
  });
  return {[](stop_atom) {}};
}

}  // namespace

caf::actor spawn_session_presence(caf::actor_system& system) {
  return system.spawn(stand_by);
}

}  // namespace tidegate::actors
