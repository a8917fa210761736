// All that a browser asks for to show a run: the page, and what it shows.
#pragma once

#include <vector>

#include "launch/monitor/http_server.hpp"
#include "launch/run/run_monitor.hpp"

namespace tidegate::launch {

// Returns the page with its parts, which everybody may have, and what of the run it asks for:
// /history.json?job=J&since=P, /events.json?since=N, /log.json?process=NAME and
// /reasons.json?lines=N. They live as long as `source`'s functions do, and read files of its
// run folder on the threads that ask.
std::vector<http_document> page_documents(const page_source& source);

}  // namespace tidegate::launch
