#include "policies/sending/send_queue.hpp"

#include <algorithm>
#include <limits>

#include "runtime/base/assert.hpp"
#include "runtime/base/buggify.hpp"

namespace tidegate::policies {

bool send_queue::later(const waiting_frame& message, const waiting_frame& other) noexcept {
  return message.message.priority != other.message.priority
             ? message.message.priority > other.message.priority
             : message.number > other.number;
}

bool send_queue::small(std::uint64_t bytes) const noexcept {
  return bytes <= most_.small_bytes && most_.bundle_frames > 1;
}

bool send_queue::add(const frame& message) {
  if (message.peer >= lanes_.size()) lanes_.resize(message.peer + std::size_t{1});
  auto& lane = lanes_[message.peer];
  lane.heap.push_back({message, added_++});
  std::push_heap(lane.heap.begin(), lane.heap.end(), &later);
  lane.bytes_waiting += message.bytes;
  return !small(message.bytes) || lane.heap.size() >= most_.bundle_frames ||
         lane.bytes_waiting >= most_.bundle_bytes;
}

// Moves the frame that is first from the lane to the message.
void send_queue::take(lane_state& lane) {
  std::pop_heap(lane.heap.begin(), lane.heap.end(), &later);
  const auto& message = lane.heap.back().message;
  lane.bytes_waiting -= message.bytes;
  lane.bytes += message.bytes;
  message_.push_back(message);
  lane.heap.pop_back();
}

// Whether the frame that is first may go with those of the message, which have so many bytes.
bool send_queue::joins(const lane_state& lane, std::uint64_t bytes) const noexcept {
  if (lane.heap.empty() || message_.size() >= most_.bundle_frames) return false;
  const auto more = lane.heap.front().message.bytes;
  return small(more) && bytes + more <= most_.bundle_bytes && lane.bytes + more <= most_.bytes;
}

std::span<const send_queue::frame> send_queue::next(std::uint32_t peer) {
  message_.clear();
  if (peer >= lanes_.size()) return {};
  auto& lane = lanes_[peer];
  if (lane.heap.empty()) return {};
  auto bytes = lane.heap.front().message.bytes;
  const bool fits = lane.messages < most_.messages && lane.bytes + bytes <= most_.bytes;
  const bool waits = TIDEGATE_BUGGIFY("send: a message waits for the one before");
  if (lane.messages > 0 && (!fits || waits)) return {};
  take(lane);
  ++lane.messages;
  if (!small(bytes)) return message_;
  while (joins(lane, bytes) && !TIDEGATE_BUGGIFY("send: a bundle leaves early")) {
    bytes += lane.heap.front().message.bytes;
    take(lane);
  }
  return message_;
}

void send_queue::sent(std::uint32_t peer, std::uint64_t bytes) {
  TIDEGATE_ASSERT(
      peer < lanes_.size() && lanes_[peer].messages > 0 && lanes_[peer].bytes >= bytes,
      "what has been sent was on the way");
  --lanes_[peer].messages;
  lanes_[peer].bytes -= bytes;
}

void send_queue::lift_limits() noexcept {
  most_.bytes = std::numeric_limits<std::uint64_t>::max();
  most_.messages = std::numeric_limits<std::uint32_t>::max();
}

void send_queue::drop(std::uint32_t peer, std::vector<std::uint32_t>& handles) {
  if (peer >= lanes_.size()) return;
  auto& lane = lanes_[peer];
  for (const auto& message : lane.heap) handles.push_back(message.message.handle);
  lane.heap.clear();
  lane.bytes_waiting = 0;
}

void send_queue::clear() {
  for (auto& lane : lanes_) {
    lane.heap.clear();
    lane.bytes_waiting = 0;
  }
}

std::size_t send_queue::waiting() const noexcept {
  std::size_t all = 0;
  for (const auto& lane : lanes_) all += lane.heap.size();
  return all;
}

}  // namespace tidegate::policies
