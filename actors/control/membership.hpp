// Who joins the coordinator for a shard's or an aggregator's actor, and again and again.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include <caf/all.hpp>

#include "actors/control/ask_coordinator.hpp"
#include "actors/control/coordinator_locator.hpp"
#include "actors/membership/membership_loop.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::actors {

// Keeps an actor in the cluster until it ends. Of one thread, which it blocks.
class membership {
 public:
  membership(caf::actor_system& system, coordinator_locator& place, shard_actor node)
      : self_(system), place_(place), node_(std::move(node)) {
    self_->monitor(node_);
  }

  // Until the actor has ended, as it was told to, at this coordinator and those after it.
  // `hello`: with which it joins, before its address and itself. Errors: unavailable (no
  // coordinator for so long), those of the coordinator.
  template <class... Hello>
  runtime::status serve(std::uint32_t give_up_ms, const std::string& subject,
                        const std::string& address, const Hello&... hello) {
    ask_ = [&] {
      const auto answer = ask_coordinator<done_atom>(
          self_, found_, no_limit, "joining the cluster as " + subject, hello..., address,
          caf::actor_cast<caf::actor>(node_));
      return answer ? runtime::status() : answer.error();
    };
    membership_shell shell(give_up_ms);
    return carry_out(shell, shell.begin(runtime::steady_now()), *this);
  }

  // It has ended by itself, and because it was told to.
  bool ended_in_order() const noexcept { return ended_ && in_order_; }

  void end() {
    self_->send_exit(node_, caf::exit_reason::user_shutdown);
    self_->wait_for(node_);
    node_ = nullptr;
  }

  // Steps of the shell.
  bool is_over() const noexcept { return ended_; }
  runtime::status find() {
    auto found = place_.find();
    if (!found) return found.error();
    found_ = std::move(*found);
    return {};
  }
  runtime::status join() { return ask_(); }
  void rest(std::int64_t most_ns) {
    self_->receive([this](const caf::down_msg& down) { on_down(down); },
                   caf::after(std::chrono::nanoseconds(most_ns)) >> [] {});
  }
  void stay() {
    gone_ = nullptr;  // the same coordinator may have been lost before
    self_->monitor(found_);
    while (!ended_ && gone_ != found_->address())
      self_->receive([this](const caf::down_msg& down) { on_down(down); });
  }

 private:
  void on_down(const caf::down_msg& down) {
    if (down.source == node_->address()) {
      ended_ = true;
      in_order_ = !down.reason;
    } else {
      gone_ = down.source;
    }
  }

  caf::scoped_actor self_;
  coordinator_locator& place_;
  shard_actor node_;
  std::function<runtime::status()> ask_;
  coordinator_actor found_;
  bool ended_ = false;
  bool in_order_ = false;
  caf::actor_addr gone_;
};

}  // namespace tidegate::actors
