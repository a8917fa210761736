#include "runtime/base/service_thread.hpp"

#include <signal.h>
#include <utility>

namespace tidegate::runtime {

namespace {

// Blocks all signals of this thread for as long as it lives; new threads inherit the mask.
class signal_block {
 public:
  signal_block() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~signal_block() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  signal_block(const signal_block&) = delete;
  signal_block& operator=(const signal_block&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

std::thread start_service_thread(std::function<void()> body) {
  const signal_block block;
  return std::thread(std::move(body));
}

}  // namespace tidegate::runtime
