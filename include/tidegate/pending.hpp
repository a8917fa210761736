// The outcome of a push or pull that is under way.
//
// Thread rule: that of its session. A callback given to then() runs on whichever thread drives
// the session's reactor: the reactor's own, or the session's thread inside a call that waits.
// It must not block or call the session.
#pragma once

#include <functional>
#include <memory>

#include <tidegate/status.hpp>

namespace tidegate {

namespace actors {
struct pending_state;
}

// A handle to an operation of a session; calls of the session return it. Dropping it does not
// cancel the operation. One that has been moved from may only be assigned to or destroyed.
class pending {
 public:
  explicit pending(std::shared_ptr<actors::pending_state> shared) noexcept;

  // Returns true once the operation has ended, whether it succeeded or failed.
  bool ready() const;
  // Blocks until the operation has ended, and returns its outcome; may be called again. Errors:
  // those of the call that returned this, refused (a shard refused), cancelled (an earlier
  // operation has failed, the session is gone, or the wait was interrupted: the operation goes
  // on then), out_of_order (this process was forked from the session's).
  status wait() const;
  // Runs `done` once with the outcome: before this returns if the operation has ended, else
  // when it ends. May be called once.
  void then(std::function<void(const status&)> done);

 private:
  std::shared_ptr<actors::pending_state> state_;
};

}  // namespace tidegate
