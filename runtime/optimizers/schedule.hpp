// Learning rates that follow the clock of a step. A pure function of options and clock, so that
// a replica, a successor and a run begun anew step at the same rates, with the same bits on
// every machine: +, -, * and / of doubles, rounded once to float32.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tidegate::runtime {

enum class schedule_kind : std::uint8_t { constant, step, cosine };

// A table's learning rate is its optimizer's rate times share_at(schedule, clock).
struct rate_schedule {
  schedule_kind kind = schedule_kind::constant;
  // Clocks of the warm-up: at clock c below it the share is (c + 1) / warmup (Goyal et al.
  // 2017, section 2.2, gradual warm-up from near 0). What the kind says begins after it.
  std::uint32_t warmup = 0;
  // step: the rate is multiplied by `factor` each time so many clocks have passed.
  // cosine: the rate falls along half a cosine for so many clocks, to `factor` times itself,
  // and stays there (Loshchilov & Hutter 2017, equation 5, without restarts).
  std::uint32_t clocks = 0;
  float factor = 0.0F;

  friend bool operator==(const rate_schedule&, const rate_schedule&) = default;
};

// Returns true if share_at() may be asked: a kind that goes by clocks has some.
constexpr bool is_complete(const rate_schedule& schedule) noexcept {
  return schedule.kind == schedule_kind::constant || schedule.clocks > 0;
}

// Returns what the learning rate is multiplied by in a step of this clock. The schedule is
// complete.
double share_at(const rate_schedule& schedule, std::uint64_t clock) noexcept;

constexpr std::string_view schedule_name(schedule_kind kind) noexcept {
  switch (kind) {
    case schedule_kind::constant:
      return "constant";
    case schedule_kind::step:
      return "step";
    case schedule_kind::cosine:
      return "cosine";
  }
  return "?";
}
// The numbers of schedules are in journals, so they are never used again.
inline constexpr schedule_kind schedules_known[] = {schedule_kind::constant,
                                                    schedule_kind::step, schedule_kind::cosine};

// Returns the schedule of this number, as journals have it, or of this name.
std::optional<schedule_kind> find_schedule(std::uint64_t number) noexcept;
std::optional<schedule_kind> find_schedule(std::string_view name) noexcept;

}  // namespace tidegate::runtime
