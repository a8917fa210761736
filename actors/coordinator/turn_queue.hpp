// What the events of a coordinator lead to, in the order of the events: the records of a turn
// are durable before the rest of it is carried out, and so is all of the turns before it. The
// shell adds a turn after each event and performs it when told to. One thread, the port's.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "actors/coordinator/control_port.hpp"
#include "policies/coordinator/core.hpp"

namespace tidegate::actors {

// What follows from an event.
struct turn {
  policies::coordinator_effects effects;
  bool durable = false;
  // These peers get the effects. When they are carried out, another may have that place.
  std::vector<control_peer> callees;
  std::vector<control_peer> hosts;
  std::vector<control_peer> retiring;
  std::vector<control_peer> idle;
  reply_to reply;
  control_reply value;

  // Returns true if the peer behind this handle gets any of them.
  bool goes_to(std::uint64_t handle) const;
};

class turn_queue {
 public:
  class owner {
   public:
    virtual ~owner() = default;
    // The records of this turn are durable. May add turns, which follow.
    virtual void perform(turn& done) = 0;
    // The records cannot be made durable, and nobody may hear of the turn: end() is called.
    virtual void journal_failed(const runtime::status& why) = 0;
  };

  turn_queue(owner& of, coordinator_storage& storage) : owner_(of), storage_(storage) {}

  // Performs the turn now, or when those before it are performed and its records are durable.
  // The queue has not ended.
  void add(turn next);
  // No turn is performed any more.
  void end() noexcept { has_ended_ = true; }
  bool has_ended() const noexcept { return has_ended_; }
  // After end(): answers those whose turn is not performed.
  void refuse_all(const runtime::status& why);
  // Returns true if a turn that is not performed yet goes to this peer.
  bool goes_to(std::uint64_t handle) const;

 private:
  void work();
  bool make_durable(turn& next);
  void on_written(const runtime::status& written);

  owner& owner_;
  coordinator_storage& storage_;
  std::deque<turn> turns_;     // that are not performed yet
  bool works_ = false;         // on the first of them
  bool asks_journal_ = false;  // to write its records, and the journal has not returned
  bool has_ended_ = false;
};

}  // namespace tidegate::actors
