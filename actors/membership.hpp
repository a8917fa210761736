// Who joins the coordinator for an actor, and again and again.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include <caf/all.hpp>

#include "actors/ask_coordinator.hpp"
#include "actors/coordinator_place.hpp"
#include "policies/ask_again.hpp"

namespace tidegate::actors {

// What keeps a shard's or aggregator's actor in the cluster: joins the coordinator, and the
// next one when that is gone, until the actor ends. Of one thread, which it blocks.
class membership {
 public:
  membership(caf::actor_system& system, coordinator_place& place, shard_actor node)
      : self_(system), place_(place), node_(std::move(node)) {
    self_->monitor(node_);
  }

  // Until it is in. `hello`: with which it joins, before its address and itself. Errors:
  // unavailable (no coordinator for so long), those of the coordinator.
  template <class... Hello>
  runtime::status join(std::uint32_t patience_ms, const std::string& what,
                       const std::string& address, const Hello&... hello) {
    policies::ask_again again(steady_now(), patience_ms);
    for (;;) {
      const auto found = place_.find();
      auto result = found ? runtime::status() : found.error();
      if (found)
        if (const auto told = ask_coordinator<done_atom>(
                self_, *found, std::chrono::milliseconds(patience_ms),
                "joining the cluster as " + what, hello..., address,
                caf::actor_cast<caf::actor>(node_));
            !told)
          result = told.error();
      if (found) joined_ = *found;
      const auto pause = again.after(steady_now(), result);
      if (!pause) return result;
      const auto until = steady_now() + *pause;
      while (!ended_ && steady_now() < until) wait(until - steady_now());
      if (ended_) return {};
    }
  }

  // Until the coordinator that it has joined is gone; false: the actor has ended, as it was
  // told to.
  bool stay() {
    self_->monitor(joined_);
    while (!ended_ && gone_ != joined_->address())
      self_->receive([this](const caf::down_msg& down) { on_down(down); });
    return !ended_;
  }

  // It has ended by itself, and because it was told to.
  bool ended_in_order() const noexcept { return ended_ && in_order_; }

  void end() {
    self_->send_exit(node_, caf::exit_reason::user_shutdown);
    self_->wait_for(node_);
    node_ = nullptr;
  }

 private:
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
