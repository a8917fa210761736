// The link of a simulated process: runtime::link over the simulated network. One thread.
#pragma once

#include <memory>
#include <string>

#include "launch/simulate/cluster/network.hpp"
#include "runtime/transport/link.hpp"

namespace tidegate::sim {

struct world;
class frame_process;

class process_link final : public runtime::link {
 public:
  process_link(world& where, frame_process& owner) : world_(where), owner_(owner) {}

  // The process itself hears what the network tells.
  void set_sink(runtime::frame_sink*) override {}
  std::string address() const override;
  runtime::expected<runtime::peer_id> connect(std::string_view address,
                                              runtime::reach where) override;
  void disconnect(runtime::peer_id peer) override;
  void post(runtime::peer_id peer, const runtime::frame_header& header,
            std::span<const std::byte> payload, runtime::send_token token) override;
  void post_bundle(runtime::peer_id peer, std::span<const runtime::outgoing> frames) override;
  std::size_t bundle_frames_most() const override { return runtime::bundle_frames_max; }
  unsigned progress() override { return 0; }
  int event_fd() const override { return -1; }
  bool arm() override { return true; }
  void close(std::uint32_t) override {}
  std::shared_ptr<runtime::memory_source> memory() override {
    return std::make_shared<runtime::heap_source>();
  }
  const runtime::link_counters& counters() const override { return counters_; }
  bool loses_frames() const noexcept override;

 private:
  void post_later(runtime::peer_id peer, std::span<const runtime::outgoing> frames);
  void maybe_stranger(runtime::peer_id peer, const runtime::outgoing& frame);

  world& world_;
  frame_process& owner_;
  runtime::link_counters counters_;
};

}  // namespace tidegate::sim
