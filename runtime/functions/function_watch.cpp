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

// Both are of this thread, for the signal of a crash, which comes on it, and for that of its
// timer, which comes on any. The texts stay until the process ends.
thread_local std::atomic<const char*> running_function = nullptr;
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
  if (const char* const running = running_function.load(); running != nullptr)
    say({"function '", running, "' of plugin ", running_plugin, " crashed: ", name_of(signal),
         "; this process ends\n"});
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  ::sigaction(signal, &usual, nullptr);
  ::raise(signal);
}

// On whichever thread; the value is where the thread that is overdue names its function.
void on_overdue(int, siginfo_t* about, void*) {
  if (about->si_code != SI_TIMER) return;  // somebody else's
  const char* const running =
      static_cast<std::atomic<const char*>*>(about->si_value.sival_ptr)->load();
  say({"function '", running == nullptr ? "?" : running,
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
function_watch::function_watch(const char* function, const char* plugin) noexcept
    : outer_function_(running_function.load()), outer_plugin_(running_plugin) {
  if (function == nullptr) return;
  running_plugin = plugin;
  running_function = function;
  const auto limit = limit_ms.load();
  if (limit == 0 || outer_function_ != nullptr) return;
  struct sigevent end = {};
  end.sigev_notify = SIGEV_SIGNAL;
  end.sigev_signo = SIGRTMIN;
  end.sigev_value.sival_ptr = &running_function;
  has_timer_ = ::timer_create(CLOCK_MONOTONIC, &end, &timer_) == 0;
  struct itimerspec when = {};
  when.it_value.tv_sec = limit / 1000;
  when.it_value.tv_nsec = limit % 1000 * 1'000'000;
  if (has_timer_) ::timer_settime(timer_, 0, &when, nullptr);
}

function_watch::~function_watch() {
  if (has_timer_) ::timer_delete(timer_);
  running_function = outer_function_;
  running_plugin = outer_plugin_;
}

}  // namespace tidegate::runtime
