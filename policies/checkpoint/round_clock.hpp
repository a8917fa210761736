// Notes where the time of a job's rounds of checkpoints goes (checkpoint_times). Times are in
// nanoseconds of one clock. Pure; one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "policies/model/checkpoint_times.hpp"

namespace tidegate::policies {

class round_clock {
 public:
  // A round begins. A final one is late from its begin on, as nothing else is left to do; where
  // it is tried again it goes on. What a round that was given up was late by counts.
  void begins(std::int64_t now, bool is_final) {
    if (is_final && is_final_) return;
    is_final_ = is_final;
    sums_.late_ns += since(late_since_, now);
    round_ = {};
    began_ = now;
    late_since_ = is_final ? now : 0;
    writes_since_ = 0;
  }
  // Another round is due before this one has ended.
  void turns_late(std::int64_t now) {
    if (late_since_ == 0) late_since_ = now;
  }
  // A shard has written its part, of so many bytes, in so long.
  void part(std::uint32_t shard, std::uint64_t took_ns, std::uint64_t bytes) {
    if (took_ns < round_.part_ns) {
      if (took_ns >= round_.others_ns) {
        round_.others_ns = took_ns;
        round_.others_bytes = bytes;
      }
      return;
    }
    round_.others_ns = std::exchange(round_.part_ns, took_ns);
    round_.others_bytes = std::exchange(round_.part_bytes, bytes);
    round_.shard = shard;
  }
  void manifest_begins(std::int64_t now) { writes_since_ = now; }
  // The checkpoint is durable.
  void ended(std::int64_t now, std::uint64_t clock) {
    round_.count = sums_.count + 1;
    round_.late_ns = sums_.late_ns + since(late_since_, now);
    round_.clock = clock;
    round_.round_ns = since(began_, now);
    round_.manifest_ns = since(writes_since_, now);
    sums_ = round_;
    late_since_ = 0;
  }

  const checkpoint_times& times() const noexcept { return sums_; }

 private:
  static std::uint64_t since(std::int64_t begin, std::int64_t now) {
    return begin == 0 ? 0 : static_cast<std::uint64_t>(std::max<std::int64_t>(0, now - begin));
  }

  checkpoint_times round_;  // under way
  checkpoint_times sums_;
  bool is_final_ = false;
  std::int64_t began_ = 0;
  std::int64_t late_since_ = 0;    // 0: it is not late
  std::int64_t writes_since_ = 0;  // the manifest; 0: not yet
};

}  // namespace tidegate::policies
