// The intake of a shell that is a reactor actor: what the link tells becomes a message in the
// actor's mailbox, and is handled on the same thread. Install in the actor's first turn.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <caf/all.hpp>

#include "actors/control/messages.hpp"
#include "actors/reactor/frame_element.hpp"
#include "actors/reactor/reactor.hpp"
#include "actors/seam/frame_intake.hpp"

namespace tidegate::actors {

class frame_mailbox final : public frame_intake {
 public:
  frame_mailbox(frame_shell& shell, shell_home& home, caf::abstract_actor& actor, reactor& on)
      : frame_intake(shell, home), actor_(actor), reactor_(on) {}
  ~frame_mailbox() override { elements_->close(); }

 private:
  void deliver(const runtime::frame_header& header, runtime::buffer payload,
               std::uint64_t copied) override {
    actor_.enqueue(frame_element::take(elements_, header, std::move(payload), copied),
                   &reactor_);
  }
  void deliver(peer_lost_event event) override {
    actor_.enqueue(caf::make_mailbox_element(nullptr, caf::make_message_id(), {},
                                             caf::make_message(std::move(event))),
                   &reactor_);
  }

  caf::abstract_actor& actor_;
  reactor& reactor_;
  std::shared_ptr<frame_element::store> elements_ = std::make_shared<frame_element::store>();
};

}  // namespace tidegate::actors
