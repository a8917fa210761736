// The keys of `otlp`. Pure, any thread.
#pragma once

#include <optional>
#include <string>

#include "launch/config/otlp_spec.hpp"
#include "launch/config/section.hpp"

namespace tidegate::launch {

// Reads the map, where there is one.
std::optional<otlp_spec> read_otlp(const section& from);

// Returns the line of a cluster file that read_otlp() reads back.
std::string otlp_text(const otlp_spec& spec);

}  // namespace tidegate::launch
