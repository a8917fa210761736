// Which frames of a process go out together, and when: send_queue with its turns.
//
// What one turn of the process adds to a peer goes when the turn ends, so that small frames
// share messages, or at once when a message is worth it; what is over the limits follows as
// messages arrive. Frames themselves are the shell's, by handle: an actor, or a simulated
// process. One thread. Neither function of the shell may call back. Once warm, nothing
// allocates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policies/sending/send_queue.hpp"

namespace tidegate::policies {

class send_shell {
 public:
  virtual ~send_shell() = default;
  // Hands one message to the network: a frame, or several as a bundle, in this order. sent()
  // follows for each.
  virtual void post(std::uint32_t peer, std::span<const send_queue::frame> message) = 0;
  // Call send_core::go_on() when everything has been added that this turn adds.
  virtual void go_on_soon() = 0;
};

class send_core {
 public:
  using name = std::uint64_t;  // the caller's, for when the frame has been sent

  explicit send_core(send_shell& shell, const send_limits& most = {})
      : shell_(shell), queue_(most) {}

  // The handle of the frame that is added next; handles are dense.
  std::uint32_t take_handle();
  void add(const send_queue::frame& message, name done);
  void go_on();
  // It is not on the way any more: its name.
  name sent(std::uint32_t handle);
  // Everything that waits goes now, however much.
  void post_all();
  // What waits for this peer does not go any more; appends its names.
  void drop(std::uint32_t peer, std::vector<name>& names);
  // Nothing that waits goes any more, and go_on() need not be called.
  void drop();

  std::size_t waiting() const noexcept { return queue_.waiting(); }

 private:
  struct frame {
    std::uint32_t peer = 0;
    name done = 0;
    std::uint64_t message_bytes = 0;  // of the message that it is the last of; 0: more follow
  };
  void put_off(std::uint32_t peer);
  bool post_next(std::uint32_t peer);
  void post_all(std::uint32_t peer) {
    while (post_next(peer)) continue;
  }

  send_shell& shell_;
  send_queue queue_;
  std::vector<frame> frames_;  // by handle
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> put_off_;  // peers: frames were added for them in this turn
  std::vector<bool> is_put_off_;        // by peer
  std::vector<std::uint32_t> dropped_;
};

}  // namespace tidegate::policies
