#include "actors/frame_sender.hpp"

#include "runtime/base/assert.hpp"

namespace tidegate::actors {

void frame_sender::send(runtime::peer_id peer, const runtime::frame_header& header) {
  home_.link().post(peer, header, {}, 0);
}

void frame_sender::send(runtime::peer_id peer, const runtime::frame_header& header,
                        std::span<const std::byte> payload, std::uint64_t priority,
                        runtime::send_token done) {
  if (frames_free_.empty()) {
    frames_free_.push_back(static_cast<std::uint32_t>(frames_.size()));
    frames_.emplace_back();
    frames_free_.reserve(frames_.size());
  }
  const auto handle = frames_free_.back();
  frames_free_.pop_back();
  frames_[handle] = {peer, header, payload, done};
  queue_.add({peer, handle, priority, payload.size()});
  post_next(peer);
}

void frame_sender::post_next(runtime::peer_id peer) {
  while (const auto next = queue_.next(peer)) {
    const auto& what = frames_[next->handle];
    home_.link().post(peer, what.header, what.payload, next->handle + std::uint64_t{1});
  }
}

void frame_sender::post_all() {
  queue_.lift_limits();
  for (runtime::peer_id peer = 0; peer < queue_.peers(); ++peer) post_next(peer);
}

std::vector<runtime::send_token> frame_sender::drop(runtime::peer_id peer) {
  std::vector<std::uint32_t> handles;
  queue_.drop(peer, handles);
  std::vector<runtime::send_token> tokens;
  for (const auto handle : handles) {
    tokens.push_back(frames_[handle].done);
    frames_free_.push_back(handle);
  }
  return tokens;
}

runtime::send_token frame_sender::on_sent(runtime::send_token token) {
  TIDEGATE_ASSERT(token >= 1 && token <= frames_.size(), "a token of send()");
  const auto handle = static_cast<std::uint32_t>(token - 1);
  const auto what = frames_[handle];
  frames_free_.push_back(handle);
  queue_.sent(what.peer, what.payload.size());
  post_next(what.peer);
  return what.done;
}

}  // namespace tidegate::actors
