// The class behind make_host_link(), of this folder alone: joins the rings to and from peers of
// this host with the other link, reads the notes that tell of rings, and decides on each turn,
// sleep and end. One reactor thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/unique_fd.hpp"
#include "runtime/memory/segment_memory.hpp"
#include "runtime/transport/deferred_reports.hpp"
#include "runtime/transport/frame_delivery.hpp"
#include "runtime/transport/host_link.hpp"
#include "runtime/transport/incoming_rings.hpp"
#include "runtime/transport/outgoing_rings.hpp"
#include "runtime/transport/ring_cursors.hpp"
#include "runtime/transport/wakeup_pipe.hpp"

namespace tidegate::runtime {

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
  unsigned turn();
  unsigned part();
  bool has_work() const noexcept;
  void rise() noexcept;
  void send(outgoing_ring* ring, const outgoing& frame);

  unsigned read_notes();
  void take(const link_hello& note);
  bool owes_notes() const noexcept { return outgoing_.owes_notes() || incoming_.owes_notes(); }
  void greet();

  // What the other link tells.
  buffer place(const frame_header& header) override { return delivery_.sink().place(header); }
  void on_frame(const frame_header& header, buffer payload) override {
    delivery_.sink().on_frame(header, std::move(payload));
  }
  void on_frame_lost(const frame_header& header) override {
    delivery_.sink().on_frame_lost(header);
  }
  void on_sent(send_token token, const status& result) override {
    delivery_.sink().on_sent(token, result);
  }
  void on_bad_frame(const status& why) override { delivery_.sink().on_bad_frame(why); }
  void on_peer_lost(peer_id peer, const status& why) override {
    delivery_.sink().on_peer_lost(peer << 1U, why);
  }

  std::unique_ptr<link> elsewhere_;
  link_counters own_;
  mutable link_counters sum_;
  frame_delivery delivery_{own_};
  deferred_reports reports_{delivery_};
  unique_fd all_;  // the wakeup pipe and the other link's descriptor
  wakeup_pipe pipe_;
  cursor_page cursors_;
  host_place self_;
  std::shared_ptr<segment_memory> memory_ = std::make_shared<segment_memory>();
  outgoing_rings outgoing_{self_, *memory_, delivery_, reports_};
  incoming_rings incoming_{self_, cursors_, outgoing_, delivery_, reports_};
  bool closed_ = false;
  unsigned turns_ = 0;
  bool patient_ = false;
};

}  // namespace tidegate::runtime
