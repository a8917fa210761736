// Watches code of a plugin while it runs: where it crashes, or does not return in time, the
// process ends, and its log says which code that was. For code that is not ours and that
// nothing can stop.
//
// Watches of a thread nest: the log names the innermost, and the time is that of the outermost,
// whose construction arms a timer of the kernel and whose destruction disarms it.
// The signals of crashes (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) and SIGRTMIN are taken over
// by begin_to_watch(), once in a process.
#pragma once

#include <chrono>
#include <ctime>

#include "runtime/base/status.hpp"

namespace tidegate::runtime {

// What a process that is ended for a function that does not return says.
inline constexpr int exit_overdue = 70;

// To be called before the first watch, and before threads. Errors: io_error.
status begin_to_watch(std::chrono::milliseconds time_limit);

class function_watch {
 public:
  // Both texts outlive it; of null nothing is watched.
  function_watch(const char* function, const char* plugin) noexcept;
  ~function_watch();
  function_watch(const function_watch&) = delete;
  function_watch& operator=(const function_watch&) = delete;

 private:
  const char* outer_function_;
  const char* outer_plugin_;
  timer_t timer_{};
  bool has_timer_ = false;
};

}  // namespace tidegate::runtime
