#include "launch/config/fault_words.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "launch/text/scalars.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::launch {

using policies::chaos_act;

namespace {

enum class time_of : std::uint8_t { none, possible, needed };
struct action {
  std::string_view word;
  chaos_act act;
  time_of time;
};
constexpr std::array<action, 5> actions{
    {{.word = "kill", .act = chaos_act::kill, .time = time_of::none},
     {.word = "stop", .act = chaos_act::stop, .time = time_of::needed},
     {.word = "partition", .act = chaos_act::partition, .time = time_of::possible},
     {.word = "heal", .act = chaos_act::heal, .time = time_of::none},
     {.word = "fill", .act = chaos_act::fill, .time = time_of::needed}}};

}  // namespace

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
  const auto colon = text.find(':');
  const auto word = text.substr(0, colon);
  const auto found = std::find_if(actions.begin(), actions.end(),
                                  [&](const action& entry) { return entry.word == word; });
  if (found == actions.end()) return {};
  policies::chaos_choice choice{found->act};
  if (colon == std::string::npos) {
    if (found->time == time_of::needed) return {};
    return choice;
  }
  const auto time = parse_duration_ms(text.substr(colon + 1));
  if (found->time == time_of::none || !time || *time == 0 || *time > fault_ms_max) return {};
  choice.for_ms = *time;
  return choice;
}

std::optional<policies::chaos_choice> parse_drawn_action(const std::string& text) {
  const auto choice = parse_action(text);
  const bool ends = choice && (choice->for_ms > 0 || choice->act == chaos_act::kill);
  return ends ? choice : std::nullopt;
}

std::string action_text(const policies::chaos_choice& choice) {
  const auto found = std::find_if(actions.begin(), actions.end(),
                                  [&](const action& entry) { return entry.act == choice.act; });
  TIDEGATE_ASSERT(found != actions.end(), "an action has a word");
  return std::string(found->word) +
         (choice.for_ms == 0 ? "" : ":" + format_duration_ms(choice.for_ms));
}

std::optional<policies::timed_fault> parse_timed_fault(const std::string& when,
                                                       const std::string& subject) {
  policies::timed_fault fault;
  const auto moment = split(when, ' ');
  if (moment.size() == 2 && moment[0] == "clock") {
    fault.clock = parse_unsigned(moment[1]);
    if (!fault.clock) return {};
  } else {
    const auto after = parse_duration_ms(when);
    if (!after || *after > fault_ms_max) return {};
    fault.after_ms = *after;
  }
  const auto words = split(subject, ' ');
  const auto action = words.empty() ? std::nullopt : parse_action(words[0]);
  if (!action) return {};
  fault.choice = *action;
  if (words.size() != (action->act == chaos_act::fill ? 1U : 2U)) return {};
  if (words.size() == 2) fault.target = words[1];
  return fault;
}

std::string when_text(const policies::timed_fault& fault) {
  return fault.clock ? "clock " + std::to_string(*fault.clock)
                     : format_duration_ms(fault.after_ms);
}

std::string what_text(const policies::timed_fault& fault) {
  return action_text(fault.choice) + (fault.target.empty() ? "" : " " + fault.target);
}

}  // namespace tidegate::launch
