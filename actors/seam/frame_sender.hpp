// Sends the frames of a shell: those without payload at once, those with payload as
// policies::send_core decides. What one turn adds goes out before the link is
// progressed again, so that its small frames share messages. Of its home's thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "actors/seam/shell_home.hpp"
#include "policies/sending/send_core.hpp"
#include "runtime/transport/link.hpp"

namespace tidegate::actors {

class frame_sender final : public continuation, private policies::send_shell {
 public:
  explicit frame_sender(shell_home& home);

  void send(runtime::peer_id peer, const runtime::frame_header& header);
  // `payload` must stay unchanged until on_sent() has returned `done`, or with 0 until nothing
  // can refer to it any more. Lower priorities overtake.
  void send(runtime::peer_id peer, const runtime::frame_header& header,
            std::span<const std::byte> payload, std::uint64_t priority,
            runtime::send_token done = 0);
  // To be called for every token that the link tells; returns `done` of that frame.
  runtime::send_token on_sent(runtime::send_token token);
  // Frames that the link does not have yet.
  std::size_t waiting() const noexcept { return core_.waiting(); }
  // Hands everything that waits to the link, however much: before it closes, which then sends
  // it in the time that it takes for that.
  void post_all() { core_.post_all(); }
  // What waits for this peer is not sent any more; appends the `done` of each such frame. What
  // the link has already ends with on_sent().
  void drop(runtime::peer_id peer, std::vector<runtime::send_token>& tokens) {
    core_.drop(peer, tokens);
  }
  // Nothing that waits is sent any more.
  void drop();

  // Its home's, before the link's progress.
  void go_on() override { core_.go_on(); }

 private:
  void post(std::uint32_t peer, std::span<const policies::send_queue::frame> message) override;
  void go_on_soon() override { home_.before_progress(*this); }

  shell_home& home_;
  policies::send_core core_;
  std::vector<runtime::outgoing> frames_;   // by handle; their tokens are the link's
  std::vector<runtime::outgoing> message_;  // the one that is being posted
};

}  // namespace tidegate::actors
