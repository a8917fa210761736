// The outcome of a push or pull that is under way.
//
// Thread rule: that of its session. A callback given to then() runs on the session's reactor
// thread and must not block or call the session.
#pragma once

#include <functional>
#include <memory>

#include <tidegate/status.hpp>

namespace tidegate {

namespace actors {
struct pending_state;
}

// The outcome of a push or pull that is under way. Movable; dropping it does not cancel.
class pending {
 public:
  explicit pending(std::shared_ptr<actors::pending_state> shared) noexcept;

  bool ready() const;
  status wait() const;  // blocks until ready; may be called again
  // Runs `done` once: at once on this thread if ready, else on the reactor thread. At most one.
  void then(std::function<void(const status&)> done);

 private:
  std::shared_ptr<actors::pending_state> state_;
};

}  // namespace tidegate
