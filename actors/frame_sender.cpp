#include "actors/frame_sender.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"

namespace tidegate::actors {

namespace {

policies::send_limits limits_of(const runtime::link& link) {
  policies::send_limits limits;
  limits.bundle_frames = std::min(limits.bundle_frames, link.bundle_frames_most());
  TIDEGATE_ASSERT(limits.bundle_bytes <= runtime::bundle_payload_bytes_max, "links take it");
  return limits;
}

}  // namespace

frame_sender::frame_sender(reactor& home) : home_(home), queue_(limits_of(home.link())) {}

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
  frames_[handle] = {{header, payload, handle + std::uint64_t{1}}, peer, done, 0};
  const bool now = queue_.add({peer, handle, priority, payload.size()});
  put_off(peer);
  if (now) post_next(peer);
}

void frame_sender::put_off(runtime::peer_id peer) {
  if (put_off_.empty()) home_.before_progress(*this);
  if (peer >= is_put_off_.size()) is_put_off_.resize(peer + std::size_t{1});
  if (is_put_off_[peer]) return;
  is_put_off_[peer] = true;
  put_off_.push_back(peer);
}

void frame_sender::go_on() {
  for (const auto peer : put_off_) {
    is_put_off_[peer] = false;
    post_all(peer);
  }
  put_off_.clear();
}

bool frame_sender::post_next(runtime::peer_id peer) {
  const auto next = queue_.next(peer);
  if (next.empty()) return false;
  message_.clear();
  std::uint64_t bytes = 0;
  for (const auto& one : next) {
    message_.push_back(frames_[one.handle].what);
    bytes += one.bytes;
  }
  frames_[next.back().handle].message_bytes = bytes;
  if (const auto& first = message_.front(); message_.size() == 1)
    home_.link().post(peer, first.header, first.payload, first.token);
  else
    home_.link().post_bundle(peer, message_);
  return true;
}

void frame_sender::post_all() {
  queue_.lift_limits();
  for (runtime::peer_id peer = 0; peer < queue_.peers(); ++peer) post_all(peer);
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
  const auto& what = frames_[handle];
  const auto done = what.done;
  frames_free_.push_back(handle);
  if (what.message_bytes == 0) return done;
  queue_.sent(what.peer, what.message_bytes);
  post_all(what.peer);
  return done;
}

void frame_sender::drop() {
  queue_.clear();
  put_off_.clear();
  is_put_off_.clear();
  home_.forget(*this);
}

}  // namespace tidegate::actors
