#include "actors/seam/frame_sender.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"

namespace tidegate::actors {

namespace {

policies::send_limits limits_of(shell_home& home) {
  auto limits = home.limits().sends;
  limits.bundle_frames = std::min(limits.bundle_frames, home.link().bundle_frames_most());
  TIDEGATE_ASSERT(limits.bundle_bytes <= runtime::bundle_payload_bytes_max, "links take it");
  return limits;
}

}  // namespace

frame_sender::frame_sender(shell_home& home) : home_(home), core_(*this, limits_of(home)) {}

void frame_sender::send(runtime::peer_id peer, const runtime::frame_header& header) {
  home_.link().post(peer, header, {}, 0);
}

void frame_sender::send(runtime::peer_id peer, const runtime::frame_header& header,
                        std::span<const std::byte> payload, std::uint64_t priority,
                        runtime::send_token done) {
  const auto handle = core_.take_handle();
  if (handle >= frames_.size()) frames_.resize(handle + std::size_t{1});
  frames_[handle] = {.header = header, .payload = payload, .token = handle + std::uint64_t{1}};
  core_.add({.peer = peer, .handle = handle, .priority = priority, .bytes = payload.size()},
            done);
}

void frame_sender::post(std::uint32_t peer,
                        std::span<const policies::send_queue::frame> message) {
  message_.clear();
  for (const auto& frame : message) message_.push_back(frames_[frame.handle]);
  if (const auto& first = message_.front(); message_.size() == 1)
    home_.link().post(peer, first.header, first.payload, first.token);
  else
    home_.link().post_bundle(peer, message_);
}

runtime::send_token frame_sender::on_sent(runtime::send_token token) {
  TIDEGATE_ASSERT(token >= 1 && token <= frames_.size(), "a token of send()");
  return core_.sent(static_cast<std::uint32_t>(token - 1));
}

void frame_sender::drop() {
  core_.drop();
  home_.forget(*this);
}

}  // namespace tidegate::actors
