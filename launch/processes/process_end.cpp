#include "launch/processes/process_end.hpp"

#include <string.h>

#include "launch/text/exit_code.hpp"

namespace tidegate::launch {

namespace {

// A worker's program has statuses of its own.
const char* why(const process_end& end) {
  if (end.name.role != policies::process_role::coordinator) return "";
  if (end.code == exit_disk_full) return ": the disk of the run folder is full";
  if (end.code == exit_disk_broken) return ": its files in the run folder cannot be used";
  return "";
}

}  // namespace

std::string to_string(const process_end& end) {
  std::string text(to_string(end.name.role));
  text += " " + std::to_string(end.name.index);
  if (!end.name.job.empty()) text += " of job " + end.name.job;
  text += " (pid " + std::to_string(end.pid) + ")";
  text += " " + text_of_end(end.by_signal, end.code);
  return end.by_signal ? text : text + why(end);
}

std::string text_of_end(bool by_signal, int code) {
  if (!by_signal) return "exited with status " + std::to_string(code);
  const char* name = ::sigabbrev_np(code);
  return "was killed by " +
         (name == nullptr ? "signal " + std::to_string(code) : "SIG" + std::string(name));
}

policies::process_exit to_exit(const process_end& end) {
  using ending = policies::process_exit::ending;
  const auto by_itself = end.code == 0 ? ending::clean : ending::bad_status;
  return {end.by_signal ? ending::by_signal : by_itself, to_string(end)};
}

}  // namespace tidegate::launch
