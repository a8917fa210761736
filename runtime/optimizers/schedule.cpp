#include "runtime/optimizers/schedule.hpp"

#include "runtime/optimizers/power.hpp"

namespace tidegate::runtime {

namespace {

// The sine of pi x for x in [0, 1/2]: Taylor's series, whose rest is below 1e-17 there. Not
// std::sin, whose last bit is the C library's choice.
double sine_of_pi(double x) {
  constexpr double pi = 3.14159265358979323846;
  const double angle = pi * x;
  const double square = angle * angle;
  double term = angle;
  double sum = angle;
  for (int n = 2; n <= 22; n += 2) {
    term = -term * square / (n * (n + 1));
    sum += term;
  }
  return sum;
}

// Half a cosine from 1 to 0 as x goes from 0 to 1: (1 + cos(pi x)) / 2 = 1 - sin^2(pi x / 2).
double half_cosine(double x) {
  const double sine = sine_of_pi(x / 2);
  return 1.0 - sine * sine;
}

}  // namespace

double share_at(const rate_schedule& schedule, std::uint64_t clock) noexcept {
  if (clock < schedule.warmup)
    return static_cast<double>(clock + 1) / static_cast<double>(schedule.warmup);
  const auto passed = clock - schedule.warmup;
  const double factor = schedule.factor;
  switch (schedule.kind) {
    case schedule_kind::constant:
      return 1.0;
    case schedule_kind::step:
      return power_of(factor, passed / schedule.clocks);
    case schedule_kind::cosine:
      if (passed >= schedule.clocks) return factor;
      return factor +
             (1.0 - factor) * half_cosine(static_cast<double>(passed) / schedule.clocks);
  }
  return 1.0;
}

std::optional<schedule_kind> find_schedule(std::uint64_t number) noexcept {
  for (const auto kind : schedules_known)
    if (static_cast<std::uint64_t>(kind) == number) return kind;
  return {};
}

std::optional<schedule_kind> find_schedule(std::string_view name) noexcept {
  for (const auto kind : schedules_known)
    if (schedule_name(kind) == name) return kind;
  return {};
}

}  // namespace tidegate::runtime
