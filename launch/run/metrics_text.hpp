// The metrics of a run that goes on, which scrapers read and collectors get: docs/metrics.md
// lists them. Pure, any thread.
#pragma once

#include <string>

#include "launch/monitor/exposition.hpp"
#include "launch/monitor/metric_sink.hpp"
#include "launch/run/run_status.hpp"

namespace tidegate::launch {

// Writes all families, also those of which nothing is known.
void add_metrics(const run_view& run, metric_sink& to);
std::string metrics_text(const run_view& run, exposition_format format);

// Returns a table of all families, in Markdown: name, type, labels and what it is.
std::string metrics_reference();

}  // namespace tidegate::launch
