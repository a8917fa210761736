// Sends the frames of an actor: those without payload at once, those with payload in the order
// and number that policies::send_queue allows, small ones together. What one turn of the actor
// adds goes out before the link is progressed again, so that its small frames share messages.
// Of the reactor's thread; no longer than the actor.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "actors/reactor.hpp"
#include "policies/send_queue.hpp"
#include "runtime/transport/link.hpp"

namespace tidegate::actors {

class frame_sender final : public reactor::continuation {
 public:
  explicit frame_sender(reactor& home);

  void send(runtime::peer_id peer, const runtime::frame_header& header);
  // `payload` must stay unchanged until on_sent() has returned `done`, or with 0 until nothing
  // can refer to it any more. Lower priorities overtake.
  void send(runtime::peer_id peer, const runtime::frame_header& header,
            std::span<const std::byte> payload, std::uint64_t priority,
            runtime::send_token done = 0);
  // To be called for every token that the link tells; returns `done` of that frame.
  runtime::send_token on_sent(runtime::send_token token);
  // Hands everything that waits to the link, however much: before it closes, which then sends
  // it in the time that it takes for that.
  void post_all();
  // What waits for this peer is not sent any more; returns the `done` of each such frame. What
  // the link has already ends with on_sent().
  std::vector<runtime::send_token> drop(runtime::peer_id peer);
  // Nothing that waits is sent any more.
  void drop();

  // The reactor's, before the link's progress.
  void go_on() override;

 private:
  struct frame {
    runtime::outgoing what;  // its token is the link's
    runtime::peer_id peer = 0;
    runtime::send_token done = 0;
    std::uint64_t message_bytes = 0;  // of the message that it is the last of; 0: more follow
  };
  void put_off(runtime::peer_id peer);
  bool post_next(runtime::peer_id peer);
  void post_all(runtime::peer_id peer) {
    while (post_next(peer)) continue;
  }

  reactor& home_;
  policies::send_queue queue_;
  std::vector<frame> frames_;  // by handle
  std::vector<std::uint32_t> frames_free_;
  std::vector<runtime::outgoing> message_;  // the one that is being posted
  std::vector<runtime::peer_id> put_off_;   // frames were added for them in this turn
  std::vector<bool> is_put_off_;            // by peer
};

}  // namespace tidegate::actors
