// A window stays, as it was written last, when the process that owns the memory is killed: a
// process of its own fills memory of a device and names a window, this one opens it, kills the
// other with SIGKILL, and reads.
//
// usage: window_of_killed_owner [DEVICE]   cuda:0 without it. Exit code 77: there is no such
//   device here
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/unique_fd.hpp"
#include "runtime/device/open/open_device.hpp"
#include "tests/runtime/device/window_owner.hpp"

namespace {

using namespace tidegate::runtime;           // NOLINT
using namespace tidegate::runtime::devices;  // NOLINT
using tidegate::tests::reads_shown;

constexpr int exit_skipped = 77;  // CTest's SKIP_RETURN_CODE
constexpr std::size_t window_bytes = (std::size_t{16} << 20) + 5;
constexpr std::size_t other_bytes = std::size_t{256} << 20;
constexpr const char* owner_mode = "--owner";

int run_owner(const char* name, int names) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto on = open_device(name);
  if (!on) {
    std::printf("skipped: %s\n", on.error().message().c_str());
    return exit_skipped;
  }
  tidegate::tests::show_window(**on, window_bytes, names);
}

// A process that is killed at the end.
class owner_process {
 public:
  explicit owner_process(const char* device_name) {
    int ends[2];
    if (::pipe(ends) != 0) return;
    names_ = unique_fd(ends[0]);
    const unique_fd theirs(ends[1]);
    pid_ = ::fork();
    if (pid_ != 0) return;
    const auto descriptor = std::to_string(theirs.get());
    ::execl("/proc/self/exe", "window_owner", owner_mode, device_name, descriptor.c_str(),
            static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ~owner_process() { kill(); }
  owner_process(const owner_process&) = delete;
  owner_process& operator=(const owner_process&) = delete;

  // Returns false where the process has ended before it showed anything.
  bool wait_for(window_name& name) const {
    return ::read(names_.get(), name.bytes.data(), sizeof name.bytes) ==
           static_cast<ssize_t>(sizeof name.bytes);
  }
  // Returns how it has ended (wait(2)).
  int kill() {
    int end = -1;
    if (pid_ <= 0) return end;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &end, 0);
    pid_ = -1;
    return end;
  }
  int wait() {
    int end = -1;
    ::waitpid(pid_, &end, 0);
    pid_ = -1;
    return WIFEXITED(end) ? WEXITSTATUS(end) : 1;
  }

 private:
  unique_fd names_;
  pid_t pid_ = -1;
};

bool expect(bool is_so, const std::string& sentence) {
  std::printf("%s: %s\n", is_so ? "yes" : "NO", sentence.c_str());
  return is_so;
}

// Takes much memory and writes all of it, where memory that was given back would be.
void write_over_free_memory(device& on, stream a) {
  const auto other = on.allocate(other_bytes);
  if (!other || !on.clear(a, other->data(), other_bytes).ok() || !on.synchronize().ok())
    std::puts("there is no other memory to write");
}

int run_reader(const char* device_name) {
  owner_process owner(device_name);
  window_name name;
  if (!owner.wait_for(name)) return owner.wait();
  const auto opened = open_device(device_name);
  if (!expect(opened.has_value(), "a second process opens the device")) {
    std::puts(opened.error().message().c_str());
    return 1;
  }
  auto& on = **opened;
  const auto window = on.open_window(name), again = on.open_window(name);
  const auto a = on.make_stream();
  if (!expect(window && again && a, "the window is opened, twice")) {
    if (!window) std::puts(window.error().message().c_str());
    return 1;
  }
  bool passes = expect(reads_shown(on, *a, window->data(), window_bytes),
                       "the owner's bytes are read while it lives");
  const int end = owner.kill();
  passes &= expect(WIFSIGNALED(end) && WTERMSIG(end) == SIGKILL, "the owner has been killed");
  write_over_free_memory(on, *a);
  passes &= expect(reads_shown(on, *a, window->data(), window_bytes), "they are read then");
  passes &= expect(reads_shown(on, *a, again->data(), window_bytes),
                   "they are read through the second opening, too");
  auto copy = on.allocate(window_bytes);
  passes &= expect(copy && on.copy(*a, copy->data(), window->data(), window_bytes).ok() &&
                       reads_shown(on, *a, copy->data(), window_bytes),
                   "they are copied on the device");
  passes &= expect(!on.open_window(name), "nobody opens it any more");
  passes &= expect(on.synchronize().ok(), "the device is not lost");
  return passes ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (argc == 4 && std::strcmp(argv[1], owner_mode) == 0)
    return run_owner(argv[2], std::atoi(argv[3]));
  return run_reader(argc > 1 ? argv[1] : "cuda:0");
}
