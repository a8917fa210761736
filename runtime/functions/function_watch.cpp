#include "runtime/functions/function_watch.hpp"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <unistd.h>

namespace tidegate::runtime {

namespace {

std::atomic<std::int64_t> limit_ms{0};

// Of this thread, for the signal of a crash, which comes on it.
thread_local const char* running_function = nullptr;
thread_local const char* running_plugin = nullptr;

// What a signal handler may do.
void say(std::initializer_list<const char*> words) {
  for (const auto* word : words) {
    const auto size = std::strlen(word);
    if (::write(STDERR_FILENO, word, size) != static_cast<ssize_t>(size)) return;
  }
}

const char* name_of(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV";
    case SIGBUS:
      return "SIGBUS";
    case SIGFPE:
      return "SIGFPE";
    case SIGILL:
      return "SIGILL";
    default:
      return "SIGABRT";
  }
}

// The default action of the signal ends the process, as without us.
void on_crash(int signal) {
  if (running_function != nullptr)
    say({"function '", running_function, "' of plugin ", running_plugin,
         " crashed: ", name_of(signal), "; this process ends\n"});
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  ::sigaction(signal, &usual, nullptr);
  ::raise(signal);
}

// On whichever thread; the value names the function.
void on_overdue(int, siginfo_t* about, void*) {
  if (about->si_code != SI_TIMER) return;  // somebody else's
  say({"function '", static_cast<const char*>(about->si_value.sival_ptr),
       "' of a plugin did not return in time (cluster.plugin_timeout); this process ends\n"});
  ::_exit(exit_overdue);
}

}  // namespace

status begin_to_watch(std::chrono::milliseconds time_limit) {
  limit_ms = time_limit.count();
  struct sigaction crash = {};
  crash.sa_handler = on_crash;
  crash.sa_flags = SA_NODEFER;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    if (::sigaction(signal, &crash, nullptr) != 0)
      return {errc::io_error, "the signals of crashes cannot be handled"};
  struct sigaction overdue = {};
  overdue.sa_sigaction = on_overdue;
  overdue.sa_flags = SA_SIGINFO;
  if (::sigaction(SIGRTMIN, &overdue, nullptr) != 0)
    return {errc::io_error, "a signal of a timer cannot be handled"};
  return {};
}

// Where the system has no timer left, a function that does not return is not ended.
function_watch::function_watch(const char* function, const char* plugin) noexcept {
  running_function = function;
  running_plugin = plugin;
  const auto limit = limit_ms.load();
  if (limit == 0) return;
  struct sigevent end = {};
  end.sigev_notify = SIGEV_SIGNAL;
  end.sigev_signo = SIGRTMIN;
  end.sigev_value.sival_ptr = const_cast<char*>(function);
  has_timer_ = ::timer_create(CLOCK_MONOTONIC, &end, &timer_) == 0;
  struct itimerspec when = {};
  when.it_value.tv_sec = limit / 1000;
  when.it_value.tv_nsec = limit % 1000 * 1'000'000;
  if (has_timer_) ::timer_settime(timer_, 0, &when, nullptr);
}

function_watch::~function_watch() {
  if (has_timer_) ::timer_delete(timer_);
  running_function = nullptr;
}

}  // namespace tidegate::runtime
