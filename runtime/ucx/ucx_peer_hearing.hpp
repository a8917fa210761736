// Asks peers over UCX whether they still hear what is sent to them; ucx_hearing.hpp says why. A
// connection that turns out to be deaf is lost.
//
// Owns what is known of each connection's hearing, the pause between questions, the questions
// and answers that UCX is sending, and those that came in this turn. One reactor thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <ucp/api/ucp.h>

#include "runtime/base/status.hpp"
#include "runtime/transport/frame_delivery.hpp"
#include "runtime/ucx/pause_timer.hpp"
#include "runtime/ucx/slot_pool.hpp"
#include "runtime/ucx/ucx_announcement.hpp"
#include "runtime/ucx/ucx_connections.hpp"
#include "runtime/ucx/ucx_hearing.hpp"
#include "runtime/ucx/ucx_worker.hpp"

namespace tidegate::runtime {

class ucx_peer_hearing {
 public:
  ucx_peer_hearing(ucx_worker& worker, ucx_connections& connections, frame_delivery& delivery)
      : worker_(worker), connections_(connections), delivery_(delivery) {}
  ucx_peer_hearing(const ucx_peer_hearing&) = delete;
  ucx_peer_hearing& operator=(const ucx_peer_hearing&) = delete;

  // Errors: unavailable, over_limit (no descriptor is left).
  status open();
  // Is readable when it is time to ask.
  int event_fd() const { return questions_.fd(); }
  // Connections have been added.
  void follow_connections() { hears_.resize(connections_.size()); }
  // Says over this connection that these to the same worker have been given up.
  void tell_given_up(peer_id over, std::span<const peer_id> gone);
  // Calls gave_up(origin) for each connection that a peer has given up, as far as it has said.
  template <class GaveUp>
  unsigned hear_given_up(const GaveUp& gave_up) {
    for (const auto& origin : given_up_) gave_up(origin);
    const auto count = static_cast<unsigned>(given_up_.size());
    given_up_.clear();
    return count;
  }

  // A payload is about to go over this connection. Hot path.
  void use(peer_id peer) {
    hears_[peer].use();
    if (!questions_.runs()) start_pause();
  }
  // Reads what has come, and asks when it is time. Returns how many things happened.
  unsigned turn() {
    const auto heard = heard_.empty() ? 0 : hear_all();
    return questions_.runs() ? heard + ask_when_due() : heard;
  }
  // The thread is about to sleep, or is not, after all: the pause may be over when it wakes.
  void note_sleep(bool sleeps) noexcept { slept_ = sleeps; }
  // Returns how many questions and answers UCX has not sent.
  std::size_t under_way() const noexcept { return sayings_.out(); }
  void clear() noexcept {
    heard_.clear();
    given_up_.clear();
  }

 private:
  // One question or answer under way.
  struct hearing_slot {
    ucx_peer_hearing* owner = nullptr;
    hearing_message message;
  };

  static ucs_status_t on_message(void* self, const void* header, std::size_t header_length,
                                 void* data, std::size_t length,
                                 const ucp_am_recv_param_t* param);
  void start_pause();
  unsigned ask_when_due();
  void say(ucp_ep_h endpoint, const hearing_message& message);
  void finish(hearing_slot& slot, ucs_status_t) { sayings_.give_back(slot); }
  unsigned hear_all();
  void hear(const hearing_message& message);
  void answer(hearing_message question);

  ucx_worker& worker_;
  ucx_connections& connections_;
  frame_delivery& delivery_;
  std::vector<hearing> hears_;  // by peer
  pause_timer questions_;
  bool slept_ = false;  // since the timer was looked at
  unsigned turns_ = 0;
  slot_pool<hearing_slot, ucx_peer_hearing> sayings_{this};
  std::vector<hearing_message> heard_;  // in this turn
  std::vector<frame_origin> given_up_;
};

}  // namespace tidegate::runtime
