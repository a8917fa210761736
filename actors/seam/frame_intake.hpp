// The sink of a link that belongs to a shell. Where a payload goes must be known before it
// arrives, so that the shell is asked at once; what has arrived is for its next turn, which the
// adapter gives it. One thread, the home's.
#pragma once

#include <cstdint>
#include <vector>

#include "actors/seam/frame_shell.hpp"
#include "actors/seam/shell_home.hpp"

namespace tidegate::actors {

class frame_intake : public runtime::frame_sink, private continuation {
 public:
  frame_intake(frame_shell& shell, shell_home& home) : shell_(shell), home_(home) {}

  // The shell ends: it is told no more of what was lost.
  void close() { home_.forget(*this); }

  runtime::buffer place(const runtime::frame_header& header) override;
  void on_frame(const runtime::frame_header& header, runtime::buffer payload) override;
  // A failure is a lost peer, of which the link tells as well.
  void on_sent(runtime::send_token token, const runtime::status&) override {
    shell_.on_sent(token);
  }
  void on_frame_lost(const runtime::frame_header& header) override;
  void on_bad_frame(const runtime::status& why) override;
  void on_peer_lost(runtime::peer_id peer, const runtime::status& why) override;

 protected:
  // Calls the shell's function of the same event in its next turn.
  virtual void deliver(const runtime::frame_header& header, runtime::buffer payload,
                       std::uint64_t copied) = 0;
  virtual void deliver(peer_lost_event event) = 0;

 private:
  void go_on() override;

  frame_shell& shell_;
  shell_home& home_;
  std::vector<runtime::frame_header> lost_;
  std::uint64_t bad_frames_ = 0;
  std::uint64_t copied_ = 0;  // by the link, so far
};

}  // namespace tidegate::actors
