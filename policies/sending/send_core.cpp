#include "policies/sending/send_core.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies {

std::uint32_t send_core::take_handle() {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(frames_.size()));
    frames_.emplace_back();
    free_.reserve(frames_.size());
  }
  const auto handle = free_.back();
  free_.pop_back();
  return handle;
}

void send_core::add(const send_queue::frame& message, name done) {
  frames_[message.handle] = {.peer = message.peer, .done = done, .message_bytes = 0};
  const bool now = queue_.add(message);
  put_off(message.peer);
  if (now) post_next(message.peer);
}

void send_core::put_off(std::uint32_t peer) {
  if (put_off_.empty()) shell_.go_on_soon();
  if (peer >= is_put_off_.size()) is_put_off_.resize(peer + std::size_t{1});
  if (is_put_off_[peer]) return;
  is_put_off_[peer] = true;
  put_off_.push_back(peer);
}

void send_core::go_on() {
  for (const auto peer : put_off_) {
    is_put_off_[peer] = false;
    post_all(peer);
  }
  put_off_.clear();
}

bool send_core::post_next(std::uint32_t peer) {
  const auto message = queue_.next(peer);
  if (message.empty()) return false;
  std::uint64_t bytes = 0;
  for (const auto& added : message) bytes += added.bytes;
  frames_[message.back().handle].message_bytes = bytes;
  shell_.post(peer, message);
  return true;
}

void send_core::post_all() {
  queue_.lift_limits();
  for (std::uint32_t peer = 0; peer < queue_.peers(); ++peer) post_all(peer);
}

send_core::name send_core::sent(std::uint32_t handle) {
  TIDEGATE_ASSERT(handle < frames_.size(), "a handle of take_handle");
  const auto message = frames_[handle];
  free_.push_back(handle);
  if (message.message_bytes == 0) return message.done;
  queue_.sent(message.peer, message.message_bytes);
  if (!runtime::is_planted(runtime::planted_bug::waiting_frames_forgotten))
    post_all(message.peer);
  return message.done;
}

void send_core::drop(std::uint32_t peer, std::vector<name>& names) {
  dropped_.clear();
  queue_.drop(peer, dropped_);
  for (const auto handle : dropped_) {
    TIDEGATE_RARE("send: what waits for a peer is dropped");
    names.push_back(frames_[handle].done);
    free_.push_back(handle);
  }
}

void send_core::drop() {
  queue_.clear();
  put_off_.clear();
  is_put_off_.clear();
}

}  // namespace tidegate::policies
