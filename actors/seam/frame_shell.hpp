// A shell that sends and receives frames, as its adapter sees it: a CAF actor or a simulated
// process, which hands on what its link tells and decides nothing. One thread, the home's.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/memory/buffer.hpp"
#include "runtime/transport/frame.hpp"
#include "runtime/transport/link.hpp"

namespace tidegate::actors {

// A frame that arrived on the shell's link.
struct frame_event {
  runtime::frame_header header;
  runtime::buffer payload;
  std::uint64_t copied = 0;  // bytes of the payload that the CPU moved in our code
};

// The shell's link has lost a peer.
struct peer_lost_event {
  std::uint32_t peer = 0;
  std::string why;
  bool ended = false;  // its process has; else only the connection broke
};

class frame_shell {
 public:
  virtual ~frame_shell() = default;

  // At once, in the link's progress: nothing may be posted from here but by place().
  virtual runtime::buffer place(const runtime::frame_header& header) = 0;
  virtual void on_sent(runtime::send_token token) = 0;
  // Right after the link's progress.
  virtual void on_frame_lost(const runtime::frame_header& header) = 0;

  // In turns of the shell, in the order in which the link tells. The payload may be moved out.
  virtual void on_frame(frame_event& event) = 0;
  virtual void on_peer_lost(const peer_lost_event& event) = 0;
  // shell_home::look_in() is over.
  virtual void look() = 0;
};

}  // namespace tidegate::actors
