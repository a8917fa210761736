// The keys of optimizers: what the registry of optimizers says, as rows of known_keys().
#pragma once

#include <string_view>
#include <vector>

#include "launch/config/yaml_keys.hpp"

namespace tidegate::launch {

inline constexpr std::string_view optimizer_of_job = "jobs.*.optimizer";
inline constexpr std::string_view optimizer_of_table = "jobs.*.tables.*.optimizer";
inline constexpr std::string_view optimizer_of_segment = "jobs.*.tables.*.segments.*.optimizer";

// Appends the rows below `map`, which is one of those; their texts live as long as the process.
void add_optimizer_keys(std::string_view map, std::vector<yaml_key>& rows);

}  // namespace tidegate::launch
