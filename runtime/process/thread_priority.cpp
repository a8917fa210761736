#include "runtime/process/thread_priority.hpp"

#include <pthread.h>
#include <sched.h>

namespace tidegate::runtime {

void give_way(bool yes) noexcept {
  const sched_param none{};
  pthread_setschedparam(pthread_self(), yes ? SCHED_BATCH : SCHED_OTHER, &none);
}

}  // namespace tidegate::runtime
