#include "launch/processes/spawn.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "launch/processes/pid_fd.hpp"
#include "launch/processes/reaper.hpp"

namespace tidegate::launch {

namespace {

runtime::status failure(const std::string& subject, int why) {
  return {why == ENOENT ? runtime::errc::not_found : runtime::errc::io_error,
          subject + ": " + std::strerror(why)};
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const auto& t : texts) all.push_back(const_cast<char*>(t.c_str()));
  all.push_back(nullptr);
  return all;
}

// Everything the child needs, made before the fork: other threads may hold locks at that
// moment, so after it only async-signal-safe calls are made.
struct child_plan {
  const char* program;
  char** arguments;
  char** environment;
  int input_fd;
  int log_fd;
  const std::vector<int>* inherited_fds;
  int error_fd;  // closed by exec; else gets errno
  pid_t parent;
};

[[noreturn]] void run_child(const child_plan& plan) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != plan.parent) ::_exit(1);  // it died before the prctl
  struct sigaction act = {};
  act.sa_handler = SIG_DFL;
  for (int s = 1; s < NSIG; ++s) ::sigaction(s, &act, nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // Descriptors of libraries that were opened without O_CLOEXEC must not leak either.
  ::syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
  ::dup2(plan.input_fd, 0);
  ::dup2(plan.log_fd, 1);
  ::dup2(plan.log_fd, 2);
  for (const int fd : *plan.inherited_fds) ::fcntl(fd, F_SETFD, 0);
  ::execve(plan.program, plan.arguments, plan.environment);
  const int why = errno;
  if (::write(plan.error_fd, &why, sizeof why) < 0) ::_exit(126);
  ::_exit(127);
}

// Blocks until exec has closed the pipe or said why it failed; 0 is success.
int exec_error(int fd) {
  int why = 0;
  ssize_t n = 0;
  do {
    n = ::read(fd, &why, sizeof why);
  } while (n < 0 && errno == EINTR);
  return n == sizeof why ? why : 0;
}

}  // namespace

runtime::expected<runtime::unique_fd> open_log(const std::string& path) {
  runtime::unique_fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!fd) return runtime::fail(failure(path, errno));
  return fd;
}

runtime::expected<spawned> spawn(const spawn_request& request) {
  const runtime::unique_fd null_fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const bool has_log = request.output < 0;
  const auto log_fd =
      has_log ? open_log(request.log_path) : runtime::expected<runtime::unique_fd>();
  if (!log_fd) return runtime::fail(log_fd.error());
  int ends[2];
  if (!null_fd || ::pipe2(ends, O_CLOEXEC) != 0) {
    return runtime::fail(failure("no more file descriptors", errno));
  }
  const runtime::unique_fd read_end(ends[0]);
  runtime::unique_fd write_end(ends[1]);
  auto arguments = pointers(request.arguments);
  auto environment = pointers(request.environment);
  const child_plan plan{.program = request.program.c_str(),
                        .arguments = arguments.data(),
                        .environment = environment.data(),
                        .input_fd = request.input >= 0 ? request.input : null_fd.get(),
                        .log_fd = has_log ? log_fd->get() : request.output,
                        .inherited_fds = &request.inherited_fds,
                        .error_fd = write_end.get(),
                        .parent = ::getpid()};
  const pid_t pid = ::fork();
  if (pid < 0) return runtime::fail(failure("no more processes", errno));
  if (pid == 0) run_child(plan);
  write_end.reset();
  ::setpgid(pid, pid);  // whoever comes first; the group exists before anyone signals it
  if (const int why = exec_error(read_end.get()); why != 0) {
    ::waitpid(pid, nullptr, 0);
    return runtime::fail(failure(request.program, why));
  }
  runtime::unique_fd pid_fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pid_fd) {
    const int why = errno;
    ::kill(-pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return runtime::fail(failure("pidfd_open", why));
  }
  return spawned{pid, std::move(pid_fd)};
}

std::optional<process_result> reap(spawned& process) {
  siginfo_t info = {};
  const auto id = static_cast<id_t>(process.pid_fd.get());
  if (::waitid(by_pid_fd, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
    return {};
  // Before the pid is given back: until then the group cannot be anybody else's.
  ::kill(-process.pid, SIGKILL);
  take_leave(process.pid, std::move(process.pid_fd));
  return process_result{info.si_code != CLD_EXITED, info.si_status};
}

std::optional<spawned> adopted(pid_t pid) {
  spawned process{pid, runtime::unique_fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)))};
  siginfo_t info = {};
  const auto id = static_cast<id_t>(process.pid_fd.get());
  if (!process.pid_fd || ::waitid(by_pid_fd, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
    return {};
  return process;
}

void reap_strays(const std::function<bool(pid_t)>& is_known) {
  siginfo_t info = {};
  while (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0 &&
         !is_known(info.si_pid) && !is_leaving(info.si_pid)) {
    ::waitpid(info.si_pid, nullptr, 0);
    info = {};
  }
}

void end_now(const spawned& process) {
  ::kill(-process.pid, SIGKILL);
  ::waitpid(process.pid, nullptr, 0);
}

}  // namespace tidegate::launch
