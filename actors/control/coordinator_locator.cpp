#include "actors/control/coordinator_locator.hpp"

#include <chrono>
#include <thread>
#include <utility>

#include <caf/all.hpp>

#include "actors/control/control_plane.hpp"
#include "actors/membership/membership_loop.hpp"
#include "policies/supervision/retry_backoff.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::actors {

using std::chrono::nanoseconds;

coordinator_actor coordinator_locator::now() const {
  const std::lock_guard lock(mutex_);
  return there_;
}

runtime::expected<coordinator_actor> coordinator_locator::find() {
  if (!may_come_back()) return now();
  const std::lock_guard looking(finding_);
  auto found = control_->connect(host_, port_);
  if (!found) return found;
  const std::lock_guard lock(mutex_);
  there_ = *found;
  return found;
}

bool coordinator_locator::is_former(const caf::strong_actor_ptr& sender) const {
  if (!may_come_back() || !sender) return false;
  const std::lock_guard lock(mutex_);
  return there_ && sender->node() != there_->node();
}

void coordinator_locator::tell(std::function<void(const coordinator_actor&)> member) {
  const std::lock_guard lock(mutex_);
  listener_ = std::move(member);
  if (listener_) listener_(there_);
}

void coordinator_locator::greet() {
  const std::lock_guard lock(mutex_);
  if (listener_) listener_(there_);
}

runtime::expected<coordinator_actor> coordinator_locator::find(std::uint32_t give_up_ms) {
  interrupt_check never;
  return find_unless(never, give_up_ms);
}

runtime::expected<coordinator_actor> coordinator_locator::find_unless(
    interrupt_check& interrupted, std::uint32_t give_up_ms) {
  policies::retry_backoff again(runtime::steady_now(), give_up_ms);
  for (;;) {
    auto found = find();
    if (found) return found;
    const auto pause = again.after(runtime::steady_now(), found.error());
    if (!pause) return found;
    std::this_thread::sleep_for(nanoseconds(*pause));
    if (interrupted())
      return runtime::fail(interrupt_check::status_of("looking for the coordinator"));
  }
}

namespace {

// Stays with whichever coordinator there is, for a session whose worker tells it.
class coordinator_watcher {
 public:
  coordinator_watcher(caf::blocking_actor* self, coordinator_locator& place)
      : self_(self), place_(place) {}

  bool is_over() const noexcept { return stopped_; }
  runtime::status find() {
    const auto found = place_.find();
    return found ? runtime::status() : found.error();
  }
  runtime::status join() {
    place_.greet();
    return {};
  }
  void rest(std::int64_t most_ns) {
    self_->receive([this](stop_atom) { stopped_ = true; }, [](const caf::down_msg&) {},
                   caf::after(nanoseconds(most_ns)) >> [] {});
  }
  void stay() {
    const auto there = place_.now();
    self_->monitor(there);
    bool gone = false;
    while (!gone && !stopped_)
      self_->receive(
          [this](stop_atom) { stopped_ = true; },
          [&](const caf::down_msg& down) { gone = down.source == there->address(); });
  }

 private:
  caf::blocking_actor* self_;
  coordinator_locator& place_;
  bool stopped_ = false;
};

}  // namespace

caf::actor spawn_coordinator_watcher(caf::actor_system& system,
                                     std::shared_ptr<coordinator_locator> place,
                                     std::uint32_t give_up_ms) {
  return system.spawn<caf::detached>(
      [place = std::move(place), give_up_ms](caf::blocking_actor* self) {
        coordinator_watcher member(self, *place);
        membership_shell shell(give_up_ms);
        const auto first = shell.begin_found(runtime::steady_now());
        if (carry_out(shell, first, member).ok()) return;
        place->give_up();
        runtime::log::error("the coordinator has not come back");
      });
}

}  // namespace tidegate::actors
