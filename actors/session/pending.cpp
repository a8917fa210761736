#include "actors/reactor/reactor.hpp"
#include "actors/session/pending_state.hpp"

namespace tidegate::actors {

pending failed(status why) {
  auto state = std::make_shared<pending_state>();
  state->complete(std::move(why));
  return pending(std::move(state));
}

status of_another_process() {
  return {
      errc::out_of_order,
      "this process was forked from a worker; the session stays with the worker, which alone "
      "may use it"};
}

}  // namespace tidegate::actors

namespace tidegate {

pending::pending(std::shared_ptr<actors::pending_state> shared) noexcept
    : state_(std::move(shared)) {}

bool pending::ready() const {
  return state_->ready.load(std::memory_order_acquire);
}

status pending::wait() const {
  if (!ready()) {
    if (!state_->home->is_of_this_process()) return actors::of_another_process();
    if (state_->push != nullptr) state_->push->release(state_->clock);
    actors::reactor::inline_driver driver(*state_->home);
    if (!driver.run_until([&] { return ready(); }, state_->patient))
      return actors::interrupt_check::status_of("waiting");
  }
  std::lock_guard lock(state_->mutex);
  return *state_->outcome;
}

void pending::then(std::function<void(const status&)> done) {
  // A push that is held back for a commit may be what the callback is about.
  if (state_->push != nullptr && state_->home->is_of_this_process() && !ready())
    state_->push->release(state_->clock);
  {
    std::lock_guard lock(state_->mutex);
    if (!state_->outcome) {
      state_->done = std::move(done);
      state_->home->run_in_background(true);  // nobody may wait for it
      return;
    }
  }
  done(*state_->outcome);
}

}  // namespace tidegate
