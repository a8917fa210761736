// Records of clocks as people and programs read them. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/trace/clock_records.hpp"

namespace tidegate::launch {

inline constexpr std::uint32_t clocks_version = 1;

// A table for each job, with a row for each clock.
std::string clocks_table(const std::vector<clock_record>& records);
// A table of one clock, with a row for each worker.
std::string workers_table(const clock_record& record);
// A line of JSON for each, with its end; docs/observing.md says what its fields are.
std::string clocks_json(const std::vector<clock_record>& records);

}  // namespace tidegate::launch
