#include "actors/coordinator_place.hpp"

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include <caf/all.hpp>

#include "actors/control_plane.hpp"
#include "policies/ask_again.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::actors {

using std::chrono::nanoseconds;

coordinator_actor coordinator_place::now() const {
  const std::lock_guard lock(mutex_);
  return there_;
}

runtime::expected<coordinator_actor> coordinator_place::find() {
  if (!may_come_back()) return now();
  const std::lock_guard looking(finding_);
  auto found = control_->connect(host_, port_);
  if (!found) return found;
  const std::lock_guard lock(mutex_);
  there_ = *found;
  if (told_) told_(there_);
  return found;
}

bool coordinator_place::is_former(const caf::strong_actor_ptr& sender) const {
  if (!may_come_back() || !sender) return false;
  const std::lock_guard lock(mutex_);
  return there_ && sender->node() != there_->node();
}

void coordinator_place::tell(std::function<void(const coordinator_actor&)> whom) {
  const std::lock_guard lock(mutex_);
  told_ = std::move(whom);
  if (told_) told_(there_);
}

runtime::expected<coordinator_actor> coordinator_place::find(std::uint32_t patience_ms) {
  policies::ask_again again(runtime::steady_now(), patience_ms);
  for (;;) {
    auto found = find();
    if (found) return found;
    const auto pause = again.after(runtime::steady_now(), found.error());
    if (!pause) return found;
    std::this_thread::sleep_for(nanoseconds(*pause));
  }
}

namespace {

// False: it is told to stop, or there is no coordinator any more.
bool find_next(caf::blocking_actor* self, coordinator_place& place, std::uint32_t patience_ms) {
  policies::ask_again again(runtime::steady_now(), patience_ms);
  runtime::status away(runtime::errc::unavailable, "it has just gone");
  while (const auto pause = again.after(runtime::steady_now(), away)) {
    bool stopped = false;
    self->receive([&](stop_atom) { stopped = true; }, [](const caf::down_msg&) {},
                  caf::after(nanoseconds(*pause)) >> [] {});
    if (stopped) return false;
    auto found = place.find();
    if (found) return true;
    away = found.error();
  }
  place.give_up();
  runtime::log::error("the coordinator has not come back");
  return false;
}

}  // namespace

caf::actor spawn_coordinator_guide(caf::actor_system& system,
                                   std::shared_ptr<coordinator_place> place,
                                   std::uint32_t patience_ms) {
  return system.spawn<caf::detached>(
      [place = std::move(place), patience_ms](caf::blocking_actor* self) {
        do {
          const auto there = place->now();
          self->monitor(there);
          bool gone = false;
          bool stopped = false;
          while (!gone && !stopped)
            self->receive(
                [&](stop_atom) { stopped = true; },
                [&](const caf::down_msg& down) { gone = down.source == there->address(); });
          if (stopped) return;
        } while (find_next(self, *place, patience_ms));
      });
}

}  // namespace tidegate::actors
