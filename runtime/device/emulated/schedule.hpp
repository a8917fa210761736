// When the work of an emulated device's streams begins and ends: each piece late by a draw of
// the seed, streams side by side, in the order that streams and events demand and no other.
//
// Pure over the times that it is given: the same calls at the same times are the same schedule.
// Times are nanoseconds and never go back. One thread at a time. Once its queues have grown,
// nothing allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/base/rng.hpp"
#include "runtime/device/emulated/work.hpp"

namespace tidegate::runtime::devices {

// The most that each of these takes; most draws are far below it, and a tenth is 0.
struct lateness {
  std::uint64_t delay_ns = 20'000;     // of work, before it begins
  std::uint64_t duration_ns = 20'000;  // of work
  std::uint64_t news_ns = 20'000;      // of an event, until the host sees it
};

class schedule {
 public:
  schedule(std::uint64_t seed, const lateness& most) : random_(seed), most_(most) {}

  stream add_stream();
  event add_event();
  bool has(stream on) const noexcept { return index(on) < streams_.size(); }
  bool has(event end) const noexcept { return index(end) < events_.size(); }

  // Queues work; of a record or wait only `kind` and `end` are set.
  void submit(stream on, work item, std::uint64_t now);
  // Returns when the next half of some work is due; nullopt if nothing can happen.
  std::optional<std::uint64_t> next_due() const;
  // Returns the half that is due next, and counts it as done. Valid until the next call.
  struct part {
    const work* item = nullptr;
    half side = half::first;
  };
  part take_next();
  // Returns true if the host can see by now that the event has ended.
  bool has_ended(event end, std::uint64_t now) const;
  bool is_idle() const noexcept;
  // Forgets all work.
  void clear() noexcept;

 private:
  struct event_state {
    std::uint64_t recorded = 0;  // how often
    std::uint64_t ended = 0;     // the last recording that has
    std::uint64_t ended_at = 0;
    std::uint64_t seen_at = 0;  // by the host
  };
  struct stream_state {
    std::vector<work> ring;  // a power of two of them
    std::size_t first = 0, count = 0;
    std::uint64_t free_at = 0;  // when the work before the head ended
    bool has_begun = false;     // the head has
    std::uint64_t ends_at = 0;  // the head does

    work& front() noexcept { return ring[first]; }
    const work& front() const noexcept { return ring[first]; }
    void push(const work& item);
    void pop() noexcept;
  };

  static std::size_t index(stream on) noexcept { return static_cast<std::size_t>(on); }
  static std::size_t index(event end) noexcept { return static_cast<std::size_t>(end); }
  std::uint64_t draw(std::uint64_t most);
  std::optional<std::uint64_t> due(const stream_state& on) const;

  rng random_;
  lateness most_;
  std::vector<stream_state> streams_;
  std::vector<event_state> events_;
  work taken_;
};

}  // namespace tidegate::runtime::devices
