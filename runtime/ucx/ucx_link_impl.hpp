// The class behind open_ucx_link(), of this folder alone: joins the parts of a link over UCX
// and decides on their order in a turn and at the end. One reactor thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/unique_fd.hpp"
#include "runtime/transport/frame_delivery.hpp"
#include "runtime/ucx/stream_guard.hpp"
#include "runtime/ucx/ucx_connections.hpp"
#include "runtime/ucx/ucx_link.hpp"
#include "runtime/ucx/ucx_memory.hpp"
#include "runtime/ucx/ucx_peer_hearing.hpp"
#include "runtime/ucx/ucx_receiver.hpp"
#include "runtime/ucx/ucx_sender.hpp"
#include "runtime/ucx/ucx_worker.hpp"

namespace tidegate::runtime {

class ucx_link final : public link {
 public:
  ~ucx_link() override;

  status open(const ucx_options& options);

  void set_sink(frame_sink* sink) override { delivery_.set_sink(sink); }
  std::string address() const override { return worker_.address(); }
  expected<peer_id> connect(std::string_view address, reach where) override;
  void disconnect(peer_id peer) override;
  void post(peer_id peer, const frame_header& header, std::span<const std::byte> payload,
            send_token token) override {
    sender_.post(peer, header, payload, token);
  }
  void post_bundle(peer_id peer, std::span<const outgoing> frames) override {
    sender_.post_bundle(peer, frames);
  }
  std::size_t bundle_frames_most() const override { return worker_.bundle_frames_most(); }
  unsigned progress() override;
  int event_fd() const override { return events_.get(); }
  bool arm() override;
  void close(std::uint32_t flush_ms_max) override;
  std::shared_ptr<memory_source> memory() override { return memory_; }
  const link_counters& counters() const override { return counters_; }

 private:
  status open_events();
  std::size_t sends_under_way() const noexcept {
    return sender_.under_way() + hearing_.under_way();
  }

  std::shared_ptr<ucx_memory> memory_;  // owns the context
  std::shared_ptr<stream_guard> guard_;
  ucx_worker worker_;
  unique_fd events_;  // UCX's and the hearing's
  link_counters counters_;
  frame_delivery delivery_{counters_};
  ucx_connections connections_{worker_, delivery_};
  ucx_peer_hearing hearing_{worker_, connections_, delivery_};
  ucx_sender sender_{worker_, connections_, hearing_, delivery_, counters_};
  ucx_receiver receiver_{worker_, connections_, delivery_};
  bool stuck_ = false;  // requests of UCX that do not end
};

}  // namespace tidegate::runtime
