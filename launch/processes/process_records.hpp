// What is written down of the processes of a run, for whoever comes after them: pids.json and
// launcher.json, and likewise of the agent of a host. Pure, any thread.
#pragma once

#include <string>
#include <vector>

#include "launch/shell/live_process.hpp"
#include "policies/launcher/leftover.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

std::string launcher_json(const policies::launcher_mark& mark);
// What launcher_json wrote. Errors: corrupt.
runtime::expected<policies::launcher_mark> parse_launcher(const std::string& text);

// `hosts`: their names, by number; of those that have one, processes name it, and their pids
// mean something there.
std::string pids_json(const std::vector<live_process>& processes,
                      const std::vector<std::string>& hosts = {});
// What pids_json wrote. Errors: corrupt.
runtime::expected<std::vector<live_process>> parse_pids(const std::string& text);

}  // namespace tidegate::launch
