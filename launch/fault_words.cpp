#include "launch/fault_words.hpp"

#include <sstream>

#include "launch/scalars.hpp"

namespace tidegate::launch {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream from(text);
  for (std::string part; std::getline(from, part, separator);) parts.push_back(part);
  return parts;
}

std::optional<std::pair<std::uint64_t, std::uint64_t>> parse_pause(const std::string& text) {
  const auto dots = text.find("..");
  const auto first = parse_duration_ms(text.substr(0, dots));
  const auto last =
      dots == std::string::npos ? first : parse_duration_ms(text.substr(dots + 2));
  if (!first || !last || *first > *last || *last > fault_ms_max || *last == 0) return {};
  return std::pair(*first, *last);
}

std::string pause_text(const policies::chaos_plan& plan) {
  const auto last = format_duration_ms(plan.pause_last_ms);
  if (plan.pause_first_ms == plan.pause_last_ms) return last;
  return format_duration_ms(plan.pause_first_ms) + ".." + last;
}

std::optional<policies::chaos_choice> parse_action(const std::string& text) {
  if (text == "kill") return policies::chaos_choice{};
  const auto colon = text.find(':');
  if (colon == std::string::npos || text.substr(0, colon) != "stop") return {};
  const auto stop = parse_duration_ms(text.substr(colon + 1));
  if (!stop || *stop > fault_ms_max) return {};
  return policies::chaos_choice{false, *stop};
}

std::string action_text(const policies::chaos_choice& what) {
  return what.kill ? "kill" : "stop:" + format_duration_ms(what.stop_ms);
}

std::optional<policies::timed_fault> parse_timed_fault(const std::string& when,
                                                       const std::string& what) {
  policies::timed_fault made;
  const auto moment = split(when, ' ');
  if (moment.size() == 2 && moment[0] == "clock") {
    made.clock = parse_unsigned(moment[1]);
    if (!made.clock) return {};
  } else {
    const auto after = parse_duration_ms(when);
    if (!after || *after > fault_ms_max) return {};
    made.after_ms = *after;
  }
  const auto words = split(what, ' ');
  const auto action = words.size() == 2 ? parse_action(words[0]) : std::nullopt;
  if (!action) return {};
  made.what = *action;
  made.process = words[1];
  return made;
}

std::string when_text(const policies::timed_fault& fault) {
  return fault.clock ? "clock " + std::to_string(*fault.clock)
                     : format_duration_ms(fault.after_ms);
}

std::string what_text(const policies::timed_fault& fault) {
  return action_text(fault.what) + " " + fault.process;
}

}  // namespace tidegate::launch
