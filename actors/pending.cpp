#include "actors/pending_state.hpp"
#include "actors/reactor.hpp"

namespace tidegate::actors {

pending::pending(std::shared_ptr<state> shared) noexcept : state_(std::move(shared)) {}

bool pending::ready() const {
  return state_->ready.load(std::memory_order_acquire);
}

runtime::status pending::wait() const {
  if (!ready()) {
    reactor::guest driver(*state_->home);
    driver.run_until([&] { return ready(); }, state_->patient);
  }
  std::lock_guard lock(state_->mutex);
  return *state_->outcome;
}

void pending::then(std::function<void(const runtime::status&)> done) {
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

}  // namespace tidegate::actors
