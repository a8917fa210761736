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
  // Where a link loses frames, a look_atom comes now and then: what has not been answered is to
  // be asked for again. Elsewhere nothing is lost while a connection lives, and none ever
  // comes.
  void look_now_and_then() {
    constexpr auto pause = std::chrono::milliseconds(100);
    if (home_.link().loses_frames()) this->delayed_send(this, pause, look_atom::value);
  }

 private:
  reactor& home_;
};

template <class Actor, class... Ts>
auto spawn_on(reactor& home, caf::actor_system& system, Ts&&... xs) {
  caf::actor_config config;
  config.host = &home;
  return system.spawn_class<Actor, caf::no_spawn_options>(config, std::ref(home),
                                                          std::forward<Ts>(xs)...);
}

}  // namespace tidegate::actors
