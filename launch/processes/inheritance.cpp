#include "launch/processes/inheritance.hpp"

#include <cerrno>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

namespace tidegate::launch {

void put_inheritance_right() {
  // The lowest number that is free is the one that is closed.
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF)
      (void)::open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY);
  struct sigaction by_default = {};
  by_default.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &by_default, nullptr);
}

}  // namespace tidegate::launch
