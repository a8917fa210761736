// Makes a CAF actor class live on a reactor: whoever sends to it, it runs on the reactor's
// thread.
#pragma once

#include <chrono>

#include <caf/all.hpp>

#include "actors/messages.hpp"
#include "actors/reactor.hpp"

namespace tidegate::actors {

// Base: event_based_actor or typed_event_based_actor<...>. Spawn with spawn_on.
template <class Base>
class reactor_actor : public Base {
 public:
  reactor_actor(caf::actor_config& config, reactor& home) : Base(config), home_(home) {}

  using Base::enqueue;

  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit*) override {
    Base::enqueue(std::move(what), &home_);
  }
  void enqueue(caf::strong_actor_ptr from, caf::message_id id, caf::message content,
               caf::execution_unit*) override {
    Base::enqueue(std::move(from), id, std::move(content), &home_);
  }
  void launch(caf::execution_unit*, bool, bool hide) override {
    if (!hide) this->register_at_system();
    this->intrusive_ptr_add_ref_impl();  // released by the reactor
    home_.exec_later(this);
  }

 protected:
  reactor& home() noexcept { return home_; }
  // A look_atom comes soon, for which looked() says that it is here: every few milliseconds
  // while `mends` connections that broke, and now and then where the link loses frames, so that
  // what has not been answered is asked for again. Else none comes: nothing is lost while a
  // connection lives.
  void look_soon(bool mends) {
    constexpr auto pause_mending = std::chrono::milliseconds(10);
    constexpr auto pause_lossy = std::chrono::milliseconds(100);
    if (looks_ || (!mends && !home_.link().loses_frames())) return;
    looks_ = true;
    this->delayed_send(this, mends ? pause_mending : pause_lossy, look_atom::value);
  }
  void looked() noexcept { looks_ = false; }

 private:
  reactor& home_;
  bool looks_ = false;
};

template <class Actor, class... Ts>
auto spawn_on(reactor& home, caf::actor_system& system, Ts&&... xs) {
  caf::actor_config config;
  config.host = &home;
  return system.spawn_class<Actor, caf::no_spawn_options>(config, std::ref(home),
                                                          std::forward<Ts>(xs)...);
}

}  // namespace tidegate::actors
