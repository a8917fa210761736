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

inline std::string text_of_effect(const launch_effects::renew& content) {
  return "epoch " + std::to_string(content.epoch);
}
inline std::string text_of_effect(const launch_effects::watch&) {
  return "watch";
}
inline std::string text_of_effect(const launch_effects::poll_now&) {
  return "poll";
}
inline std::string text_of_effect(const launch_effects::fail_job& content) {
  return content.job + " has failed: " + content.reason;
}
inline std::string text_of_effect(const launch_effects::record_cancelled& content) {
  return content.job + " is on record";
}
inline std::string text_of_effect(const launch_effects::was_done& content) {
  return content.job + " was done";
}
inline std::string text_of_effect(const launch_effects::save& content) {
  return "save " + content.job;
}
inline std::string text_of_effect(const launch_effects::note& content) {
  return "note " + content.subject + ": " + content.detail;
}
inline std::string text_of_effect(const launch_effects::complain& content) {
  return content.text;
}

inline std::string text_of_effect(const launch_effects::stop_cluster& content) {
  std::string text = "stop";
  for (const auto& [job, why] : content.failures) text += ", " + job + " has failed: " + why;
  return text;
}

inline std::string text_of_effect(const launch_effects::conclude& content) {
  const char* const words[] = {"done", "job failed", "process died"};
  return std::string("over: ") + words[static_cast<int>(content.outcome)] +
         (content.reason.empty() ? "" : ", " + content.reason);
}

}  // namespace tidegate::policies::tests
