// Virtual time: what will happen, in the order of its times; at equal times and unless it says
// otherwise in the order in which it was planned. Nothing else in a simulation knows a clock.
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace tidegate::sim {

using nanoseconds = std::int64_t;

constexpr nanoseconds microsecond = 1'000;
constexpr nanoseconds millisecond = 1'000'000;
constexpr nanoseconds second = 1'000'000'000;

class schedule {
 public:
  using action = std::function<void()>;

  nanoseconds now() const noexcept { return now_; }
  std::uint64_t steps() const noexcept { return steps_; }
  bool empty() const noexcept { return heap_.empty(); }

  // Not before now (asserted). Of what is planned for the same time, lower orders come first.
  void at(nanoseconds when, action item, std::uint64_t order = 0);
  void after(nanoseconds delay, action item) { at(now_ + delay, std::move(item)); }
  // Nothing that is planned happens.
  void clear() { heap_.clear(); }
  // Makes the next thing happen; false when nothing is planned.
  bool step();

 private:
  struct planned {
    nanoseconds when = 0;
    std::uint64_t order = 0;
    std::uint64_t number = 0;
    action step;
  };
  static bool later(const planned& entry, const planned& other) noexcept;

  nanoseconds now_ = 0;
  std::uint64_t planned_ = 0;
  std::uint64_t steps_ = 0;
  std::vector<planned> heap_;
};

}  // namespace tidegate::sim
