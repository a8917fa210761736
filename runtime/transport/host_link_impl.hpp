// The class behind make_host_link(), of this folder alone: connections, progress and the end
// are in host_link.cpp, frames on their way out in host_link_send.cpp, and in in
// host_link_receive.cpp, what processes tell each other besides in host_link_notes.cpp. One
// reactor thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/limits.hpp"
#include "runtime/base/unique_fd.hpp"
#include "runtime/memory/segment.hpp"
#include "runtime/memory/segment_memory.hpp"
#include "runtime/transport/doorbell.hpp"
#include "runtime/transport/fifo.hpp"
#include "runtime/transport/frame_ring.hpp"
#include "runtime/transport/host_link.hpp"
#include "runtime/transport/silent_sink.hpp"

namespace tidegate::runtime {

// What a process shows to those who write to it: whether it sleeps, and how far it has read
// each ring.
//
//   0 asleep u32 (0: no; else twice the number of this sleep, odd: not for acknowledgements) |
//   64 * (1 + slot) read u64
class desk_view {
 public:
  desk_view() = default;
  explicit desk_view(std::byte* at) noexcept : at_(at) {}
  // Somebody else's is to be loaded only; it is mapped so.
  std::atomic<std::uint32_t>& asleep() const noexcept {
    return *reinterpret_cast<std::atomic<std::uint32_t>*>(at_);
  }
  std::atomic<std::uint64_t>& read(std::uint32_t slot) const noexcept {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(at_ + 64 * (1 + std::size_t{slot}));
  }

  static constexpr std::uint32_t slots = limits::host_peers_max;
  static constexpr std::size_t bytes = 64 * (1 + std::size_t{slots});
  static_assert(slots >= limits::workers_max, "a job with all its workers fits on one host");

 private:
  std::byte* at_ = nullptr;
};

// Of one ring; a record of 16 KiB and its header fit. Small enough for many, and for the cache.
inline constexpr std::size_t ring_capacity = 64U << 10U;
inline constexpr std::size_t ring_bytes = ring_head_bytes + ring_capacity;

class host_link final : public link, private frame_sink {
 public:
  explicit host_link(std::unique_ptr<link> elsewhere) : elsewhere_(std::move(elsewhere)) {}
  ~host_link() override { close(0); }

  status open();

  void set_sink(frame_sink* sink) override;
  std::string address() const override;
  expected<peer_id> connect(std::string_view address, reach where) override;
  void disconnect(peer_id peer) override;
  void post(peer_id peer, const frame_header& header, std::span<const std::byte> payload,
            send_token token) override;
  void post_bundle(peer_id peer, std::span<const outgoing> frames) override;
  std::size_t bundle_frames_most() const override { return elsewhere_->bundle_frames_most(); }
  unsigned progress() override;
  int event_fd() const override { return all_.get(); }
  bool arm() override;
  void set_patient(bool patient) override { patient_ = patient; }
  void close(std::uint32_t flush_ms_max) override;
  std::shared_ptr<memory_source> memory() override { return memory_; }
  const link_counters& counters() const override;
  bool loses_frames() const noexcept override { return elsewhere_->loses_frames(); }

 private:
  // A frame that has not gone out whole.
  struct waiting {
    frame_header header;
    std::span<const std::byte> payload;
    send_token token = 0;
    bool begun = false;    // its header is out
    std::size_t gone = 0;  // of its payload, likewise
  };
  // A token that is told once so much of the ring has been read.
  struct unsent {
    send_token token = 0;
    std::uint64_t position = 0;
  };
  // To a peer; its index is its number, and the peer's name.
  struct ring_out {
    host_place to;
    bell_rope rope;
    segment desk;
    segment memory;
    ring_writer ring;
    std::optional<std::uint32_t> slot;  // of their desk, once they said which
    bool greeted = false;
    bool departs = false;
    std::uint32_t rung = 0;  // for which of its sleeps
    fifo<waiting> frames;
    fifo<unsent> tokens;
  };
  // From whoever said hello.
  struct ring_in {
    host_place from;
    std::uint64_t number = 0;
    bell_rope rope;
    segment memory;
    ring_reader ring;
    std::uint32_t slot = 0;
    bool welcomed = false;
    bool garbage = false;  // was found: it is not read any more
    bool departs = false;
    bool dropped = false;
    // The frame whose payload is arriving in pieces.
    frame_header arriving;
    buffer place;  // empty: it was refused
    std::uint64_t missing = 0;
    std::vector<segment> lent;  // of its payload
  };
  // A refusal that waits because the pipe of the ring's writer was full.
  struct refused {
    bell_rope rope;
    bell_note note;
  };
  struct outcome {
    send_token token;
    status result;
  };

  static bool is_ring(peer_id peer) noexcept { return (peer & 1U) != 0; }
  static peer_id name_of(std::size_t ring) noexcept {
    return static_cast<peer_id>(ring << 1U | 1U);
  }
  // Null: the peer is gone.
  ring_out* out_of(peer_id peer);

  // Of host_link.cpp.
  static status open_ring(ring_out& ring, const host_place& to);
  unsigned turn();
  unsigned tell();
  unsigned part();
  bool has_work();
  bool is_flushed();
  void rise();
  void lose(std::size_t ring, const status& why);
  void end(std::size_t ring, const status& why);

  // Of host_link_send.cpp.
  std::uint64_t read_of(const ring_out& out) const noexcept;
  bool put(ring_out& out, waiting& frame);
  bool put_pieces(ring_out& out, waiting& frame);
  std::byte* begin(ring_out& out, record_kind kind, const frame_header& header,
                   std::size_t more);
  void send(ring_out* out, const outgoing& frame);
  unsigned pump(ring_out& out);
  static void wake(ring_out& out, bool urgent);

  // Of host_link_receive.cpp.
  unsigned receive(ring_in& in, std::uint64_t bytes_max);
  bool take(ring_in& in, const ring_record& record);
  void take_frame(const frame_header& header, std::span<const std::byte> payload);
  bool take_lent(ring_in& in, const frame_header& header, std::span<const std::byte> name);
  void found_garbage(ring_in& in);
  bool take_piece(ring_in& in, std::span<const std::byte> piece);
  std::span<const std::byte> lent_to(ring_in& in, std::span<const std::byte> name,
                                     std::uint64_t bytes);
  buffer place_for(const frame_header& header);
  void arrived(const frame_header& header, buffer place);
  void bad_frame(const status& why);
  void drop(ring_in& in);

  // Of host_link_notes.cpp.
  unsigned read_notes();
  void on_hello(const bell_note& note);
  void on_welcome(const bell_note& note);
  void on_farewell(const bell_note& note);
  void on_refusal(const bell_note& note);
  void sweep();
  void greet();
  void say_refusal(std::uint64_t number, bell_rope rope);
  void say_farewell(const bell_rope& rope);
  bool is_connected_to(std::uint64_t whose) const noexcept;

  // What the other link tells.
  buffer place(const frame_header& header) override { return sink_->place(header); }
  void on_frame(const frame_header& header, buffer payload) override {
    sink_->on_frame(header, std::move(payload));
  }
  void on_frame_lost(const frame_header& header) override { sink_->on_frame_lost(header); }
  void on_sent(send_token token, const status& result) override {
    sink_->on_sent(token, result);
  }
  void on_bad_frame(const status& why) override { sink_->on_bad_frame(why); }
  void on_peer_lost(peer_id peer, const status& why) override {
    sink_->on_peer_lost(peer << 1U, why);
  }

  std::unique_ptr<link> elsewhere_;
  silent_sink nobody_;
  frame_sink* sink_ = &nobody_;
  unique_fd all_;  // the bell and the other link's descriptor
  doorbell bell_;
  segment desk_;
  host_place self_;
  std::shared_ptr<segment_memory> memory_ = std::make_shared<segment_memory>();
  std::vector<std::unique_ptr<ring_out>> out_;  // of the gone: null
  std::vector<std::unique_ptr<ring_in>> in_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<refused> refusals_;
  bool closed_ = false;
  bool armed_ = false;       // others may believe that we sleep
  bool notes_wait_ = false;  // hellos, welcomes or refusals that found a full pipe
  bool parting_ = false;     // some ring departs
  unsigned turns_ = 0;
  std::uint32_t sleeps_ = 0;
  bool patient_ = false;
  fifo<outcome> failed_;
  std::vector<std::pair<peer_id, status>> lost_;
  std::vector<frame_header> frames_lost_;
  std::vector<status> bad_;
  link_counters own_;
  mutable link_counters sum_;
};

}  // namespace tidegate::runtime
