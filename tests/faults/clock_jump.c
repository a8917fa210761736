// Loaded before a program's libraries: the wall clock goes back by an hour as soon as the file
// that CLOCK_JUMP names exists. Other clocks are as they are.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec* now) {
  const long result = syscall(SYS_clock_gettime, clock, now);
  const char* flag = getenv("CLOCK_JUMP");
  if (result == 0 && clock == CLOCK_REALTIME && flag != NULL && access(flag, F_OK) == 0)
    now->tv_sec -= 3600;
  return (int)result;
}
