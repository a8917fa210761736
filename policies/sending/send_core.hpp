// Which frames of a process go out together, and when: send_queue with its turns.
//
// Frames that one turn of the process adds for a peer go when the turn ends, so that small
// frames share messages, or at once when a message is worth it; frames over the limits follow
// as messages arrive. The shell (an actor, or a simulated process) owns the frames, by handle.
// One thread. Neither function of the shell may call back. Once warm, nothing allocates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policies/sending/send_queue.hpp"

namespace tidegate::policies {

class send_shell {
 public:
  virtual ~send_shell() = default;
  // Hands one message to the network: a frame, or several as a bundle, in this order. The shell
  // calls sent() for each of them later, in this order. `message` is valid during the call.
  virtual void post(std::uint32_t peer, std::span<const send_queue::frame> message) = 0;
  // Has send_core::go_on() called once, when this turn has added all its frames.
  virtual void go_on_soon() = 0;
};

class send_core {
 public:
  using name = std::uint64_t;  // the caller's name of a frame; sent() and drop() return it

  explicit send_core(send_shell& shell, const send_limits& most = {})
      : shell_(shell), queue_(most) {}

  // Returns the handle for a frame that is to be added. Handles are dense, and free again after
  // sent() or drop(peer).
  std::uint32_t take_handle();
  // Adds a frame, whose handle is from take_handle(). May post a message.
  void add(const send_queue::frame& message, name done);
  // Ends a turn: posts what may go of the frames that were added since the last.
  void go_on();
  // Takes in that a frame is not on the way any more: it has arrived, or never will. Returns
  // its name. Posts what may go after it.
  name sent(std::uint32_t handle);
  // Posts everything that waits, however much; from then on there are no limits.
  void post_all();
  // Forgets the frames that wait for this peer, and appends their names. Frames on the way are
  // still to be reported by sent().
  void drop(std::uint32_t peer, std::vector<name>& names);
  // Forgets all frames that wait; go_on() need not be called.
  void drop();

  // Returns the number of frames that wait.
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
