// A sink that hears nothing and gives no place: for a link that nobody listens to.
#pragma once

#include "runtime/transport/link.hpp"

namespace tidegate::runtime {

struct silent_sink final : frame_sink {
  buffer place(const frame_header&) override { return {}; }
  void on_frame(const frame_header&, buffer) override {}
  void on_frame_lost(const frame_header&) override {}
  void on_sent(send_token, const status&) override {}
  void on_bad_frame(const status&) override {}
  void on_peer_lost(peer_id, const status&) override {}
};

}  // namespace tidegate::runtime
