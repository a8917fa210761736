#include "runtime/process/borrowed_descriptor.hpp"

#include <cerrno>
#include <cstring>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/process/process_stat.hpp"

namespace tidegate::runtime {

namespace {

constexpr long call_of_pidfd_getfd = 438;  // on every processor; older headers do not name it

status unavailable(const process_mark& owner, const std::string& why) {
  return {errc::unavailable, "process " + std::to_string(owner.pid) + " " + why};
}

status refused(const process_mark& owner, int descriptor, int error) {
  if (error == ESRCH) return unavailable(owner, "has ended");
  if (error == EBADF)
    return unavailable(owner, "has closed its descriptor " + std::to_string(descriptor));
  if (error == EPERM || error == EACCES)
    return unavailable(
        owner,
        "may not be asked for a descriptor; run both processes as one user, in a "
        "container with --cap-add SYS_PTRACE, and with "
        "/proc/sys/kernel/yama/ptrace_scope 0 or 1");
  if (error == ENOSYS)
    return unavailable(owner,
                       "cannot be asked for a descriptor by this kernel; it takes Linux 5.6");
  return unavailable(owner, std::string("gives no descriptor: ") + std::strerror(error));
}

}  // namespace

void let_descriptors_be_borrowed() noexcept {
  // Where there is no Yama this fails, and nothing is missing.
  static_cast<void>(::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0));
}

expected<unique_fd> borrow_descriptor(const process_mark& owner, int descriptor) {
  if (owner.pid <= 0) return fail(unavailable(owner, "is no process"));
  // From here on the descriptor is of one process, whoever gets its pid later.
  const unique_fd process(static_cast<int>(::syscall(SYS_pidfd_open, owner.pid, 0)));
  if (!process) return fail(refused(owner, descriptor, errno));
  const auto stat = stat_of(owner.pid);
  if (!stat || is_over(*stat) || stat->started != owner.started)
    return fail(unavailable(owner, "has ended"));
  unique_fd copy(
      static_cast<int>(::syscall(call_of_pidfd_getfd, process.get(), descriptor, 0)));
  if (copy) return copy;
  return fail(refused(owner, descriptor, errno));
}

}  // namespace tidegate::runtime
