// Makes a CAF actor class live on a reactor: whoever sends to it, it runs on the reactor's
// thread.
#pragma once

#include <chrono>

#include <caf/all.hpp>

#include "actors/control/messages.hpp"
#include "actors/reactor/reactor_home.hpp"

namespace tidegate::actors {

// Base: event_based_actor or typed_event_based_actor<...>. Spawn with spawn_on.
template <class Base>
class reactor_actor : public Base {
 public:
  reactor_actor(caf::actor_config& config, reactor& home) : Base(config), home_(home) {}

  using Base::enqueue;

  void enqueue(caf::mailbox_element_ptr element, caf::execution_unit*) override {
    Base::enqueue(std::move(element), &home_);
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
  // For shells of this actor, whose looks come as a look_atom.
  shell_home& shells_home() noexcept { return shells_home_; }
  // The shells of this actor cannot reach these peers.
  virtual void report_unreachable(const unreachable_peers& /*peers*/) {}
  // What has closed at the shells of this actor.
  virtual void report_arrivals(const policies::shard_report& /*report*/) {}

 private:
  struct timed_home final : reactor_home {
    timed_home(reactor& on, reactor_actor& owner) : reactor_home(on), owner_(owner) {}
    void look_in(std::int64_t pause_ns) override {
      owner_.delayed_send(&owner_, std::chrono::nanoseconds(pause_ns), look_atom::value);
    }
    void report_unreachable(const unreachable_peers& peers) override {
      owner_.report_unreachable(peers);
    }
    void report_arrivals(const policies::shard_report& report) override {
      owner_.report_arrivals(report);
    }
    reactor_actor& owner_;
  };

  reactor& home_;
  timed_home shells_home_{home_, *this};
};

template <class Actor, class... Ts>
auto spawn_on(reactor& home, caf::actor_system& system, Ts&&... xs) {
  caf::actor_config config;
  config.host = &home;
  return system.spawn_class<Actor, caf::no_spawn_options>(config, std::ref(home),
                                                          std::forward<Ts>(xs)...);
}

}  // namespace tidegate::actors
