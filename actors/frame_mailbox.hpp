// The sink half of a reactor actor: turns what the link tells into messages in the actor's
// mailbox.
//
// Where a payload goes must be known before it arrives, so `place` is asked of the actor
// directly; both run on the reactor's thread. Install in the actor's first turn.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <caf/all.hpp>

#include "actors/frame_element.hpp"
#include "actors/messages.hpp"
#include "actors/reactor.hpp"
#include "policies/frame_tags.hpp"
#include "runtime/base/log.hpp"
#include "runtime/transport/link.hpp"

namespace tidegate::actors {

class frame_mailbox final : public runtime::frame_sink, private reactor::continuation {
 public:
  // What the actor decides at once; everything else reaches it as a message.
  class owner {
   public:
    virtual ~owner() = default;
    virtual runtime::buffer place(const runtime::frame_header& header) = 0;
    virtual void on_sent(runtime::send_token token) = 0;
    // Right after the link's progress, so that it may post.
    virtual void on_frame_lost(const runtime::frame_header& header) = 0;
  };

  frame_mailbox(owner& who, caf::abstract_actor& actor, reactor& home)
      : owner_(who), actor_(actor), home_(home) {}
  ~frame_mailbox() override { elements_->close(); }
  // The owner ends: of what was lost it is told no more.
  void close() { home_.forget(*this); }

  runtime::buffer place(const runtime::frame_header& header) override {
    auto room = owner_.place(header);
    // What a reply acknowledges counts also when nobody wants its payload any more.
    if (!room)
      if (const auto ack = policies::acknowledgement_in(header)) on_frame(*ack, {});
    return room;
  }
  void on_frame(const runtime::frame_header& header, runtime::buffer payload) override {
    // A link counts what it copied right before it hands over the frame.
    const auto copied = home_.link().counters().payload_bytes_copied;
    const auto now = copied - std::exchange(copied_, copied);
    actor_.enqueue(frame_element::take(elements_, header, std::move(payload), now), &home_);
  }
  void on_sent(runtime::send_token token, const runtime::status&) override {
    owner_.on_sent(token);  // a failure is a lost peer, told apart
  }
  void on_frame_lost(const runtime::frame_header& header) override {
    if (lost_.empty()) home_.after_progress(*this);
    lost_.push_back(header);
  }
  void on_bad_frame(const runtime::status& why) override {
    if (++bad_frames_ <= 16 ||
        std::has_single_bit(bad_frames_))  // a flood is not worth a flood
      runtime::log::warn("dropped what is no frame (" + std::to_string(bad_frames_) +
                         " so far): " + why.message());
  }
  void on_peer_lost(runtime::peer_id peer, const runtime::status& why) override {
    deliver(caf::make_message(peer_lost_event{
        .peer = peer, .why = why.message(), .ended = why.code() == runtime::errc::not_found}));
  }

 private:
  void go_on() override {
    for (const auto& header : std::exchange(lost_, {})) owner_.on_frame_lost(header);
  }
  void deliver(caf::message content) {
    actor_.enqueue(
        caf::make_mailbox_element(nullptr, caf::make_message_id(), {}, std::move(content)),
        &home_);
  }

  owner& owner_;
  caf::abstract_actor& actor_;
  reactor& home_;
  std::shared_ptr<frame_element::store> elements_ = std::make_shared<frame_element::store>();
  std::vector<runtime::frame_header> lost_;
  std::uint64_t bad_frames_ = 0;
  std::uint64_t copied_ = 0;  // by the link, so far
};

}  // namespace tidegate::actors
