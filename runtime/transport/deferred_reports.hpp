// What a link of one host has to tell its owner and may tell only in progress(): posts that
// failed, frames and peers that are lost, bytes that are no frame.
//
// Owns those reports until they are told. They come from any call of the link, and from within
// callbacks. One reactor thread.
#pragma once

#include <utility>
#include <vector>

#include "runtime/transport/fifo.hpp"
#include "runtime/transport/frame_delivery.hpp"

namespace tidegate::runtime {

class deferred_reports {
 public:
  explicit deferred_reports(frame_delivery& delivery) : delivery_(delivery) {}

  // Nobody asked to hear of token 0.
  void send_failed(send_token token, const status& why);
  void frame_lost(const frame_header& header) { frames_.push_back(header); }
  // Counts it at once.
  void bad_frame(const status& why);
  void peer_lost(peer_id peer, const status& why) { peers_.emplace_back(peer, why); }
  // Takes the loss of this peer back, if it was not told.
  void forget(peer_id peer);

  bool empty() const noexcept {
    return sends_.empty() && peers_.empty() && frames_.empty() && bad_.empty();
  }
  // Tells the sink all there is, also what its callbacks add. Returns how many reports it was.
  unsigned tell();
  void clear() noexcept;

 private:
  struct failed_send {
    send_token token;
    status why;
  };

  frame_delivery& delivery_;
  fifo<failed_send> sends_;
  std::vector<frame_header> frames_;
  std::vector<status> bad_;
  std::vector<std::pair<peer_id, status>> peers_;
};

}  // namespace tidegate::runtime
