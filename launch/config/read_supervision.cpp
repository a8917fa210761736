#include "launch/config/read_supervision.hpp"

#include "launch/text/scalars.hpp"

namespace tidegate::launch {

namespace {

constexpr std::uint64_t restarts_max = 1'000'000;
constexpr std::uint64_t hour_ms = 60 * 60 * 1000;
// Below, a busy machine would be taken for a hang.
constexpr std::uint64_t heartbeat_ms_min = 100;
constexpr std::uint64_t unreachable_ms_min = 1000;

// "5s" or "100ms..5s".
void read_backoff(const section& from, policies::restart_spec& into) {
  const auto* value = from.get("backoff");
  if (value == nullptr) return;
  if (!value->is_scalar()) return from.wrong("backoff", "is " + std::string(describe(*value)));
  const auto& text = value->text;
  const auto dots = text.find("..");
  const auto first = parse_duration_ms(text.substr(0, dots));
  const auto last =
      dots == std::string::npos ? first : parse_duration_ms(text.substr(dots + 2));
  if (!first || !last || *first > *last || *last > hour_ms)
    return from.wrong("backoff", "'" + text + "' is not valid");
  into.backoff_first_ms = static_cast<std::uint32_t>(*first);
  into.backoff_last_ms = static_cast<std::uint32_t>(*last);
}

void read_limits(const section& from, policies::restart_spec& into) {
  std::uint64_t restarts = into.max_restarts;
  std::uint64_t within_ms = into.within_ms;
  from.number("max_restarts", restarts, 0, restarts_max);
  from.duration_ms("within", within_ms, 1, hour_ms);
  read_backoff(from, into);
  into.max_restarts = static_cast<std::uint32_t>(restarts);
  into.within_ms = static_cast<std::uint32_t>(within_ms);
}

// "2s", or "off".
void read_heartbeat(const section& from, std::uint32_t& into) {
  const auto* value = from.get("timeout");
  if (value == nullptr) return;
  if (!value->is_scalar()) return from.wrong("timeout", "is " + std::string(describe(*value)));
  const auto ms =
      value->text == "off" ? std::optional<std::uint64_t>(0) : parse_duration_ms(value->text);
  if (!ms || *ms > hour_ms || (*ms > 0 && *ms < heartbeat_ms_min))
    return from.wrong("timeout", "'" + value->text + "' is not valid");
  into = static_cast<std::uint32_t>(*ms);
}

void read_unreachable(const section& from, std::uint32_t& into) {
  const auto* value = from.get("unreachable");
  if (value == nullptr) return;
  if (!value->is_scalar())
    return from.wrong("unreachable", "is " + std::string(describe(*value)));
  const auto ms = parse_duration_ms(value->text);
  if (!ms || *ms < unreachable_ms_min || *ms > hour_ms)
    return from.wrong("unreachable", "'" + value->text + "' is not within that");
  into = static_cast<std::uint32_t>(*ms);
}

}  // namespace

void read_supervision(const section& from, policies::supervision_spec& into) {
  read_limits(from.child("worker"), into.worker);
  read_limits(from.child("shard"), into.shard);
  read_limits(from.child("aggregator"), into.aggregator);
  read_limits(from.child("coordinator"), into.coordinator);
  read_heartbeat(from.child("heartbeat"), into.heartbeat_timeout_ms);
  read_unreachable(from, into.unreachable_ms);
}

std::string backoff_text(const policies::restart_spec& limits) {
  const auto last = format_duration_ms(limits.backoff_last_ms);
  if (limits.backoff_first_ms == limits.backoff_last_ms) return last;
  return format_duration_ms(limits.backoff_first_ms) + ".." + last;
}

}  // namespace tidegate::launch
