// The sums that upstream has not acknowledged: of each chunk those of the last few clocks, and
// of each sum one part for each node. The core begins a sum when it hands it on, acknowledges
// its parts as upstream answers, and asks what to send again.
//
// One thread. Nothing allocates but add_chunks().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "policies/protocol/frame_tag.hpp"
#include "policies/protocol/protocol.hpp"
#include "policies/supervision/retransmit_timer.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::policies {

class upstream_sums {
 public:
  // Sums of a chunk at a time; a clock has the place of the one so many before it.
  static constexpr auto window = runtime::limits::clocks_in_flight_max;

  // One node's part of a sum.
  struct part {
    bool skips = false;
    payload_handle single = no_payload;  // the sum, if it was the only input
    float rate = 1.0F;                   // of frame_tag
  };

  // Slots below `chunks` have sums. `nodes`: of each, ever the same number.
  void add_chunks(std::size_t chunks, std::size_t nodes);
  // The sum of this clock is handed on; set_part() of each node follows.
  void begin(std::uint32_t slot, std::uint64_t clock);
  void set_part(std::uint32_t slot, std::uint64_t clock, std::size_t node, const part& sent);
  // Upstream has applied or refused this part. If it was the last of its sum, returns the first
  // refusal of any, or ok; otherwise nullopt, as for a part that is not waited for.
  std::optional<reply_code> acknowledge(std::uint32_t slot, std::uint64_t clock,
                                        std::size_t node, reply_code code);

  // Returns null if the part is acknowledged. The sum of `clock` is under way.
  const part* find_missing(std::uint32_t slot, std::uint64_t clock, std::size_t node) const;
  // Returns the oldest clock from `from` on whose sum is under way.
  std::optional<std::uint64_t> oldest(std::uint32_t slot, std::uint64_t from) const;
  // Returns the clock whose sum has this place, below `window`, if it is to be sent again now;
  // its timer begins anew.
  std::optional<std::uint64_t> take_due(std::uint32_t slot, std::size_t place, std::int64_t now,
                                        const retransmit_limits& limits);
  // Returns true if any sum is under way.
  bool is_busy() const;

 private:
  struct sum_under_way {
    std::uint64_t clock = 0;
    std::uint32_t remaining = 0;  // nodes
    reply_code code = reply_code::ok;
    retransmit_timer retransmit;
  };
  struct sent_part {
    bool acknowledged = true;
    part content;
  };

  std::size_t place_of(std::uint32_t slot, std::uint64_t clock) const {
    return std::size_t{slot} * window + clock % window;
  }

  std::size_t nodes_ = 0;
  std::vector<sum_under_way> sums_;  // by slot, clock modulo window
  std::vector<sent_part> parts_;     // by slot, clock modulo window, node
};

}  // namespace tidegate::policies
