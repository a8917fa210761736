// Ends of processes, and effects that end a run, a line each.
#pragma once

#include <string>

#include "policies/launcher/effects.hpp"

namespace tidegate::policies::tests {

using ending = process_exit::ending;

inline process_exit exit_of(const std::string& name, ending kind) {
  return {kind, name + (kind == ending::clean        ? " ended"
                        : kind == ending::bad_status ? " exited with status 1"
                                                     : " was killed")};
}

inline std::string text_of_stop(const launch_effects::stop_cluster& content) {
  std::string text = "stop";
  for (const auto& [job, why] : content.failures) text += ", " + job + " has failed: " + why;
  return text;
}

inline std::string text_of_end(const launch_effects::conclude& content) {
  const char* const words[] = {"done", "job failed", "process died"};
  return std::string("over: ") + words[static_cast<int>(content.outcome)] +
         (content.reason.empty() ? "" : ", " + content.reason);
}

}  // namespace tidegate::policies::tests
