// What a scraper reads of a run that goes on: docs/metrics.md lists it. Pure, any thread.
#pragma once

#include <string>

#include "launch/monitor/exposition.hpp"
#include "launch/run/run_status.hpp"

namespace tidegate::launch {

std::string metrics_text(const run_view& run, exposition_format format);

// Returns a table of all families, in Markdown: name, type, labels and what it is.
std::string metrics_reference();

}  // namespace tidegate::launch
