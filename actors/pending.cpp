#include "actors/pending_state.hpp"

namespace tidegate::actors {

pending::pending(std::shared_ptr<state> shared) noexcept : state_(std::move(shared)) {}

bool pending::ready() const {
  std::lock_guard lock(state_->mutex);
  return state_->outcome.has_value();
}

runtime::status pending::wait() const {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->outcome.has_value(); });
  return *state_->outcome;
}

void pending::then(std::function<void(const runtime::status&)> done) {
  {
    std::lock_guard lock(state_->mutex);
    if (!state_->outcome) {
      state_->done = std::move(done);
      return;
    }
  }
  done(*state_->outcome);
}

}  // namespace tidegate::actors
