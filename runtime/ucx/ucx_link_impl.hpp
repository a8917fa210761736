// The class behind open_ucx_link(), of this folder alone: connections, progress and the end are
// in ucx_link.cpp, frames on their way in ucx_frames.cpp and ucx_bundles.cpp, the end of one
// connection in ucx_disconnect.cpp, whether it is heard in ucx_peer_hearing.cpp. One reactor
// thread.
#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ucp/api/ucp.h>

#include "runtime/base/unique_fd.hpp"
#include "runtime/transport/silent_sink.hpp"
#include "runtime/ucx/pause_timer.hpp"
#include "runtime/ucx/slot_pool.hpp"
#include "runtime/ucx/stream_guard.hpp"
#include "runtime/ucx/ucx_hearing.hpp"
#include "runtime/ucx/ucx_link.hpp"
#include "runtime/ucx/ucx_memory.hpp"

namespace tidegate::runtime {

inline constexpr unsigned frame_am_id = 1;
inline constexpr unsigned bundle_am_id = 2;
inline constexpr unsigned hearing_am_id = 3;

class ucx_link final : public link {
 public:
  ~ucx_link() override {
    if (worker_) close(0);
    if (worker_ && stuck_) {
      // UCX would abort. The process is about to end; the memory may stay until then.
      static_cast<void>(new std::shared_ptr<ucx_memory>(memory_));
      return;
    }
    if (worker_) ucp_worker_destroy(worker_);
  }

  status open(const ucx_options& options);

  void set_sink(frame_sink* sink) override { sink_ = sink; }
  std::string address() const override { return address_; }
  expected<peer_id> connect(std::string_view address, reach where) override;
  void disconnect(peer_id peer) override;
  void post(peer_id peer, const frame_header& header, std::span<const std::byte> payload,
            send_token token) override;
  void post_bundle(peer_id peer, std::span<const outgoing> frames) override;
  std::size_t bundle_frames_most() const override { return bundle_frames_most_; }
  unsigned progress() override;
  int event_fd() const override { return events_.get(); }
  bool arm() override;
  void close(std::uint32_t flush_ms_max) override;
  std::shared_ptr<memory_source> memory() override { return memory_; }
  const link_counters& counters() const override { return counters_; }

 private:
  struct connection {
    ucx_link* owner = nullptr;
    peer_id id = 0;
    ucp_ep_h endpoint = nullptr;
    std::uint64_t number = 0;  // of the worker at the other end
    hearing hears;
    bool lost = false;
    bool departs = false;
  };
  // One send under way. Slots are kept and reused: the header must live until completion.
  struct send_slot {
    ucx_link* owner = nullptr;
    peer_id to = 0;
    send_token token = 0;
    frame_header_wire header{};
  };
  // One bundle under way. UCX reads all of it until completion.
  struct bundle_slot {
    ucx_link* owner = nullptr;
    peer_id to = 0;
    std::size_t frames = 0;
    std::array<frame_header_wire, bundle_frames_max> headers{};
    std::array<ucp_dt_iov_t, bundle_frames_max> payloads{};
    std::array<send_token, bundle_frames_max> tokens{};
  };
  // One question or answer under way.
  struct hearing_slot {
    ucx_link* owner = nullptr;
    hearing_message message;
  };
  // One rendezvous under way.
  struct receive_slot {
    ucx_link* owner = nullptr;
    frame_header header;
    buffer place;
  };

  static ucs_status_t on_message(void* self, const void* header, std::size_t header_length,
                                 void* data, std::size_t length,
                                 const ucp_am_recv_param_t* param);
  static ucs_status_t on_bundle(void* self, const void* headers, std::size_t headers_length,
                                void* data, std::size_t length,
                                const ucp_am_recv_param_t* param);
  static ucs_status_t on_hearing(void* self, const void* header, std::size_t header_length,
                                 void* data, std::size_t length,
                                 const ucp_am_recv_param_t* param);
  static void on_said(void* request, ucs_status_t code, void* slot);
  static void on_bundle_done(void* request, ucs_status_t code, void* slot);
  static void on_send_done(void* request, ucs_status_t code, void* slot);
  static void on_receive_done(void* request, ucs_status_t code, std::size_t length, void* slot);
  static void on_error(void* peer, ucp_ep_h endpoint, ucs_status_t code);

  // `announced`: it is not here yet, `data` is UCX's name for it.
  ucs_status_t receive(const frame_header& header, void* data, std::size_t length,
                       bool announced);
  void receive_bundle(std::span<const std::byte> payload);
  void bad_frame(const status& why);
  // A payload is about to go over this connection.
  void use(connection& to);
  unsigned ask_when_due();
  void say(connection& to, const hearing_message& message);
  unsigned hear_all();
  void hear(hearing_message message);
  void answer(hearing_message question);
  status handle(unsigned id, ucp_am_recv_callback_t callback);
  status ask_limits();
  status ask_address();
  status open_worker(std::uint32_t silent_ms);
  status open_events();
  expected<std::string> address_of_next(std::string_view address, std::uint64_t number) const;
  void finish_bundle(bundle_slot& slot, ucs_status_t code);
  void finish_receive(receive_slot& slot, ucs_status_t code);
  void finish_send(send_slot& slot, ucs_status_t code);
  // One turn of UCX.
  unsigned progress_worker();
  unsigned go_on_disconnecting();
  void close_by_force(connection& peer);
  void lose(connection& peer, ucs_status_t code);
  using steady_clock = std::chrono::steady_clock;
  std::size_t sends_under_way() const;
  void drain(std::vector<void*>& requests, steady_clock::time_point deadline);

  struct outcome {
    send_token token;
    ucs_status_t code;
  };
  struct loss {
    peer_id peer;
    ucs_status_t code;
  };

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  unique_fd events_;  // UCX's and the timer's
  std::string address_;
  std::uint64_t number_ = 0;  // of this worker
  pause_timer questions_;
  bool slept_ = false;  // since the timer was looked at
  unsigned turns_ = 0;
  std::shared_ptr<ucx_memory> memory_;  // owns the context
  std::shared_ptr<stream_guard> guard_;
  silent_sink nobody_;
  frame_sink* sink_ = &nobody_;
  std::deque<connection> peers_;
  slot_pool<send_slot, ucx_link> sends_{this};
  slot_pool<bundle_slot, ucx_link> bundles_{this};
  std::size_t bundle_frames_most_ = 1;
  std::vector<frame_header> arriving_;  // of the bundle that is being received
  slot_pool<hearing_slot, ucx_link> sayings_{this};
  std::vector<hearing_message> heard_;  // in this turn
  slot_pool<receive_slot, ucx_link> receives_{this};
  bool stuck_ = false;         // requests of UCX that do not end
  std::vector<outcome> sent_;  // told in progress()
  std::vector<outcome> telling_;
  std::vector<loss> lost_;
  std::vector<frame_header> frames_lost_;  // likewise
  std::vector<peer_id> departing_;         // dead, it was said
  std::vector<void*> closing_;             // connections, by request
  link_counters counters_;
};

}  // namespace tidegate::runtime
