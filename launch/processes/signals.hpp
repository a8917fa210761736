// SIGINT, SIGTERM and SIGHUP as a descriptor for as long as this lives. Main thread, before
// others.
#pragma once

#include <signal.h>
#include <sys/signalfd.h>

#include "runtime/base/unique_fd.hpp"

namespace tidegate::launch {

class signal_source {
 public:
  signal_source() {
    sigset_t set;
    sigemptyset(&set);
    for (const int s : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, s);
    ::sigprocmask(SIG_BLOCK, &set, &before_);
    fd_ = runtime::unique_fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;  // a reader of our output that has gone away ends nothing
    ::sigaction(SIGPIPE, &ignore, &pipe_before_);
  }
  ~signal_source() {
    ::sigaction(SIGPIPE, &pipe_before_, nullptr);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  signal_source(const signal_source&) = delete;
  signal_source& operator=(const signal_source&) = delete;

  int fd() const noexcept { return fd_.get(); }
  // The next signal that has come; 0 when no signal has come.
  int next() const {
    signalfd_siginfo info = {};
    const auto n = ::read(fd_.get(), &info, sizeof info);
    return n == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
  }

 private:
  sigset_t before_ = {};
  struct sigaction pipe_before_ = {};
  runtime::unique_fd fd_;
};

}  // namespace tidegate::launch
