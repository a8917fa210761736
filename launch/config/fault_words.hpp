// The words for faults, as `tidegate chaos` and the YAML's `faults` have them. Pure, any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policies/model/fault_spec.hpp"

namespace tidegate::launch {

inline constexpr std::uint64_t fault_ms_max = 24ULL * 60 * 60 * 1000;
inline constexpr std::uint64_t fault_hits_max = 1'000'000;

// "500ms", or a range "200ms..2s": milliseconds, the first and the last.
std::optional<std::pair<std::uint64_t, std::uint64_t>> parse_pause(const std::string& text);
std::string pause_text(const policies::chaos_plan& plan);
// "kill", "stop:300ms", "partition" or "partition:2s", "heal", "fill:1s".
std::optional<policies::chaos_choice> parse_action(const std::string& text);
// One that ends by itself.
std::optional<policies::chaos_choice> parse_drawn_action(const std::string& text);
std::string action_text(const policies::chaos_choice& choice);

// "clock 100" or "5s", and "kill shard-0", "stop:300ms worker-mlp-1", "partition:2s there" or
// "fill:1s". Nothing when the text is not valid; whether there is such a process or host is not
// looked at.
std::optional<policies::timed_fault> parse_timed_fault(const std::string& when,
                                                       const std::string& subject);
std::string when_text(const policies::timed_fault& fault);
std::string what_text(const policies::timed_fault& fault);

// "a,b" -> a, b.
std::vector<std::string> split(const std::string& text, char separator);

}  // namespace tidegate::launch
