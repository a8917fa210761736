// Which frames with payload go out next: those of each peer by priority, only so many at a
// time, and small ones together.
//
// A message that has been handed to the network cannot be overtaken. So few are handed over,
// just enough to keep the network busy, and the rest waits here, where a small frame of a table
// that is used next passes the many chunks of one that is used last. Peers have a queue each,
// so that all links carry payload at every moment.
//
// A message costs as much as many KiB of payload. So small frames that are next to each other
// in this order share one, a bundle. Nothing waits for company: bundles are made of the frames
// that wait when a message may go. A caller that adds many frames in a row calls next() when it
// has added the last, or when add() returns true. One thread. Once warm, nothing allocates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tidegate::policies {

struct send_limits {
  // Of one peer, on the way at a time.
  std::uint64_t bytes = 4U << 20U;
  std::uint32_t messages = 16;
  // Of a bundle, and of a frame in one.
  std::uint64_t bundle_bytes = 256U << 10U;
  std::size_t bundle_frames = 64;
  std::uint64_t small_bytes = 32U << 10U;
};

// Returns a priority: earlier clocks go first, and within a clock what is used first (`order`).
constexpr std::uint64_t use_order(std::uint64_t clock, std::uint64_t order) noexcept {
  constexpr unsigned order_bits = 20;  // limits::tables_max
  constexpr auto last = (std::uint64_t{1} << (64 - order_bits)) - 1;
  return std::min(clock, last) << order_bits | order;
}

class send_queue {
 public:
  struct frame {
    std::uint32_t peer = 0;
    std::uint32_t handle = 0;    // the caller's name for it
    std::uint64_t priority = 0;  // lower goes first; equals go in order
    std::uint64_t bytes = 0;
  };

  explicit send_queue(send_limits most = {}) : most_(most) {}

  // Adds a frame. Returns false if next() had better be called after other frames that are
  // about to be added, because they may share a message.
  bool add(const frame& message);
  // Returns the frames of the next message for this peer, which then is on the way; nothing if
  // none may go now. A frame larger than the limit goes alone. Valid until the next call of
  // next().
  std::span<const frame> next(std::uint32_t peer);
  // Takes in that a message of so many bytes is not on the way any more: it has arrived, or
  // never will.
  void sent(std::uint32_t peer, std::uint64_t bytes);
  // Lifts the limits on what is on the way, for good.
  void lift_limits() noexcept;
  // Returns a number above that of every peer that a frame was added for.
  std::uint32_t peers() const noexcept { return static_cast<std::uint32_t>(lanes_.size()); }
  // Forgets the frames that wait for this peer, and appends their handles.
  void drop(std::uint32_t peer, std::vector<std::uint32_t>& handles);
  // Forgets all frames that wait.
  void clear();

  // Returns the number of frames that wait.
  std::size_t waiting() const noexcept;

 private:
  struct waiting_frame {
    frame message;
    std::uint64_t number = 0;  // of arrival
  };
  struct lane_state {
    std::vector<waiting_frame> heap;
    std::uint64_t bytes_waiting = 0;
    std::uint64_t bytes = 0;  // on the way
    std::uint32_t messages = 0;
  };
  static bool later(const waiting_frame& message, const waiting_frame& other) noexcept;
  bool small(std::uint64_t bytes) const noexcept;
  bool joins(const lane_state& lane, std::uint64_t bytes) const noexcept;
  void take(lane_state& lane);

  send_limits most_;
  std::vector<lane_state> lanes_;  // by peer
  std::vector<frame> message_;     // the one that next() returned
  std::uint64_t added_ = 0;
};

}  // namespace tidegate::policies
