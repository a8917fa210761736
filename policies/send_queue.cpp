#include "policies/send_queue.hpp"

#include <algorithm>
#include <limits>

#include "runtime/base/assert.hpp"

namespace tidegate::policies {

bool send_queue::later(const waiting_frame& one, const waiting_frame& other) noexcept {
  return one.what.priority != other.what.priority ? one.what.priority > other.what.priority
                                                  : one.number > other.number;
}

void send_queue::add(const frame& what) {
  if (what.peer >= lanes_.size()) lanes_.resize(what.peer + std::size_t{1});
  auto& heap = lanes_[what.peer].heap;
  heap.push_back({what, added_++});
  std::push_heap(heap.begin(), heap.end(), &later);
}

std::optional<send_queue::frame> send_queue::next(std::uint32_t peer) {
  if (peer >= lanes_.size()) return std::nullopt;
  auto& lane = lanes_[peer];
  if (lane.heap.empty()) return std::nullopt;
  const auto bytes = lane.heap.front().what.bytes;
  const bool fits = lane.frames < most_.frames && lane.bytes + bytes <= most_.bytes;
  if (lane.frames > 0 && !fits) return std::nullopt;
  std::pop_heap(lane.heap.begin(), lane.heap.end(), &later);
  const auto what = lane.heap.back().what;
  lane.heap.pop_back();
  lane.bytes += bytes;
  ++lane.frames;
  return what;
}

void send_queue::sent(std::uint32_t peer, std::uint64_t bytes) {
  TIDEGATE_ASSERT(
      peer < lanes_.size() && lanes_[peer].frames > 0 && lanes_[peer].bytes >= bytes,
      "what has been sent was on the way");
  --lanes_[peer].frames;
  lanes_[peer].bytes -= bytes;
}

void send_queue::lift_limits() noexcept {
  most_ = {std::numeric_limits<std::uint64_t>::max(),
           std::numeric_limits<std::uint32_t>::max()};
}

void send_queue::drop(std::uint32_t peer, std::vector<std::uint32_t>& handles) {
  if (peer >= lanes_.size()) return;
  auto& heap = lanes_[peer].heap;
  for (const auto& one : heap) handles.push_back(one.what.handle);
  heap.clear();
}

void send_queue::clear() {
  for (auto& lane : lanes_) lane.heap.clear();
}

std::size_t send_queue::waiting() const noexcept {
  std::size_t all = 0;
  for (const auto& lane : lanes_) all += lane.heap.size();
  return all;
}

}  // namespace tidegate::policies
