// How frames that arrive reach the owner of a link: the sink is asked for a place, payload is
// copied into it where the transport does not do so itself, and the frame is handed over.
//
// Owns the choice of the sink, which is a silent one until it is set, and counts what arrives
// in the counters of its link. One reactor thread, inside progress(). Hot path; allocates
// nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/transport/link.hpp"
#include "runtime/transport/silent_sink.hpp"

namespace tidegate::runtime {

class frame_delivery {
 public:
  explicit frame_delivery(link_counters& counters) : counters_(counters) {}
  frame_delivery(const frame_delivery&) = delete;
  frame_delivery& operator=(const frame_delivery&) = delete;

  // Null: from now on nobody listens.
  void set_sink(frame_sink* sink) noexcept { sink_ = sink != nullptr ? sink : &nobody_; }
  frame_sink& sink() noexcept { return *sink_; }

  // Returns the place of the payload of this frame. It is empty if the sink refuses the frame.
  buffer place(const frame_header& header) {
    auto place = sink_->place(header);
    if (!place) {
      ++counters_.frames_refused;
      return place;
    }
    TIDEGATE_ASSERT(place.size() == header.payload_bytes, "a place fits its payload");
    return place;
  }
  // Copies payload into a place, or into a part of one that begins at `to`.
  void copy(std::byte* to, std::span<const std::byte> payload) noexcept {
    std::memcpy(to, payload.data(), payload.size());
    counters_.payload_bytes_copied += payload.size();
  }
  // Hands a frame over whose payload, if it has any, is in its place.
  void deliver(const frame_header& header, buffer place) {
    ++counters_.frames_received;
    counters_.payload_bytes_received += place.size();
    sink_->on_frame(header, std::move(place));
  }
  // Copies a frame, all of which is here, to its place and hands it over.
  void take(const frame_header& header, std::span<const std::byte> payload) {
    if (payload.empty()) return deliver(header, {});
    auto to = place(header);
    if (!to) return;
    copy(to.data(), payload);
    deliver(header, std::move(to));
  }

  // Counts bytes that are no frame; bad_frame() tells the sink of them, too.
  void count_bad_frame() noexcept { ++counters_.frames_bad; }
  void bad_frame(const status& why) {
    count_bad_frame();
    sink_->on_bad_frame(why);
  }
  std::uint64_t bytes_copied() const noexcept { return counters_.payload_bytes_copied; }

 private:
  link_counters& counters_;
  silent_sink nobody_;
  frame_sink* sink_ = &nobody_;
};

}  // namespace tidegate::runtime
