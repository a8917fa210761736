// Who joins the coordinator for an actor, and again and again.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include <caf/all.hpp>

#include "actors/ask_coordinator.hpp"
#include "actors/coordinator_place.hpp"
#include "policies/ask_again.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::actors {

// Asks the coordinator that is there now, again and again while it or the next one cannot
// answer. `ask`: it; its answer as a status. `rest`: for so many nanoseconds at most, while
// messages are heard; false: there is no need any more. Errors: unavailable (none for so long),
// those of `ask`.
template <class Ask, class Rest>
runtime::status join_coordinator(coordinator_place& place, std::uint32_t patience_ms,
                                 const Ask& ask, const Rest& rest) {
  policies::ask_again again(runtime::steady_now(), patience_ms);
  for (;;) {
    const auto found = place.find();
    const auto result = found ? ask(*found) : found.error();
    const auto pause = again.after(runtime::steady_now(), result);
    if (!pause) return result;
    const auto until = runtime::steady_now() + *pause;
    for (auto now = runtime::steady_now(); now < until; now = runtime::steady_now())
      if (!rest(until - now)) return {};
  }
}

// What keeps a shard's or aggregator's actor in the cluster: joins the coordinator, and the
// next one when that is gone, until the actor ends. Of one thread, which it blocks.
class membership {
 public:
  membership(caf::actor_system& system, coordinator_place& place, shard_actor node)
      : self_(system), place_(place), node_(std::move(node)) {
    self_->monitor(node_);
  }

  // Until the actor has ended, as it was told to, at this coordinator and those after it.
  // `hello`: with which it joins, before its address and itself. Errors: unavailable (no
  // coordinator for so long), those of the coordinator.
  template <class... Hello>
  runtime::status serve(std::uint32_t patience_ms, const std::string& what,
                        const std::string& address, const Hello&... hello) {
    const auto ask = [&](const coordinator_actor& whom) {
      joined_ = whom;
      const auto told =
          ask_coordinator<done_atom>(self_, whom, no_limit, "joining the cluster as " + what,
                                     hello..., address, caf::actor_cast<caf::actor>(node_));
      return told ? runtime::status() : told.error();
    };
    do {
      const auto joined = join_coordinator(place_, patience_ms, ask, [this](std::int64_t most) {
        wait(most);
        return !ended_;
      });
      if (!joined.ok()) return joined;
    } while (!ended_ && stay());
    return {};
  }

  // It has ended by itself, and because it was told to.
  bool ended_in_order() const noexcept { return ended_ && in_order_; }

  void end() {
    self_->send_exit(node_, caf::exit_reason::user_shutdown);
    self_->wait_for(node_);
    node_ = nullptr;
  }

 private:
  // Until the coordinator that it has joined is gone; false: the actor has ended, as it was
  // told to.
  bool stay() {
    gone_ = nullptr;  // the same coordinator may have been lost before
    self_->monitor(joined_);
    while (!ended_ && gone_ != joined_->address())
      self_->receive([this](const caf::down_msg& down) { on_down(down); });
    return !ended_;
  }

  void wait(std::int64_t most_ns) {
    self_->receive([this](const caf::down_msg& down) { on_down(down); },
                   caf::after(std::chrono::nanoseconds(most_ns)) >> [] {});
  }
  void on_down(const caf::down_msg& down) {
    if (down.source == node_->address()) {
      ended_ = true;
      in_order_ = !down.reason;
    } else {
      gone_ = down.source;
    }
  }

  caf::scoped_actor self_;
  coordinator_place& place_;
  shard_actor node_;
  coordinator_actor joined_;
  bool ended_ = false;
  bool in_order_ = false;
  caf::actor_addr gone_;
};

}  // namespace tidegate::actors
