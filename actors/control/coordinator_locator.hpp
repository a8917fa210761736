// Where the coordinator is. It may die and come back at the same address; whoever has to do
// with it asks this for its handle each time. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include <caf/fwd.hpp>

#include "actors/control/interrupt_check.hpp"
#include "actors/control/messages.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::actors {

class control_plane;

class coordinator_locator {
 public:
  coordinator_locator(control_plane& control, std::string host, std::uint16_t port)
      : control_(&control), host_(std::move(host)), port_(port) {}
  // Ends this process's use of it: it does not come back.
  explicit coordinator_locator(coordinator_actor there) : there_(std::move(there)) {}

  // The last that was found; gone, perhaps.
  coordinator_actor now() const;
  // Calls this with the coordinator that is there now, and with each that is greeted, on the
  // thread that greets it; it calls nothing here. One at a time; nullptr ends it.
  void tell(std::function<void(const coordinator_actor&)> member);
  void greet();
  // A process whose place the one that was found last has taken.
  bool is_former(const caf::strong_actor_ptr& sender) const;
  bool may_come_back() const noexcept { return control_ != nullptr && !given_up_; }
  // It has not come back for as long as anybody waits: nobody waits again.
  void give_up() noexcept { given_up_ = true; }
  // Connects anew. Errors: unavailable.
  runtime::expected<coordinator_actor> find();
  // Again and again, for so long. Errors: unavailable.
  runtime::expected<coordinator_actor> find(std::uint32_t give_up_ms);
  // Likewise, unless `interrupted` says otherwise. Errors: unavailable, cancelled
  // (interrupted).
  runtime::expected<coordinator_actor> find_unless(interrupt_check& interrupted,
                                                   std::uint32_t give_up_ms);

 private:
  control_plane* control_ = nullptr;
  std::atomic<bool> given_up_ = false;
  std::string host_;
  std::uint16_t port_ = 0;
  std::mutex finding_;        // one at a time: who began to look before finds no later one
  mutable std::mutex mutex_;  // guards what follows
  coordinator_actor there_;
  std::function<void(const coordinator_actor&)> listener_;
};

// An actor on a thread of its own that waits for the coordinator's end, finds the next one and
// waits for that one's; it ends when it has not found any for so long, or with a stop_atom.
// Whoever cannot go on without a coordinator watches it.
caf::actor spawn_coordinator_watcher(caf::actor_system& system,
                                     std::shared_ptr<coordinator_locator> place,
                                     std::uint32_t give_up_ms);

}  // namespace tidegate::actors
