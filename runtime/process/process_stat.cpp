#include "runtime/process/process_stat.hpp"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <sstream>
#include <string>
#include <unistd.h>

#include "runtime/base/unique_fd.hpp"

namespace tidegate::runtime {

expected<process_stat> parse_stat(std::string_view text) {
  // The name is in brackets, and may have some in it.
  const auto close = text.rfind(')');
  if (close == std::string_view::npos)
    return fail(errc::corrupt, "/proc/PID/stat without a name");
  std::istringstream fields{std::string(text.substr(close + 1))};
  process_stat stat;
  std::string skipped;
  fields >> stat.state >> stat.parent >> stat.group >> stat.session;
  fields >> skipped >> skipped;  // terminal
  std::uint32_t flags = 0;
  fields >> flags;
  constexpr std::uint32_t exiting = 0x4;  // PF_EXITING of the kernel
  stat.exits = (flags & exiting) != 0;
  for (int field = 10; field < 22; ++field) fields >> skipped;
  fields >> stat.started;
  if (!fields) return fail(errc::corrupt, "/proc/PID/stat is too short");
  return stat;
}

expected<process_stat> stat_of(int pid) {
  const auto path = "/proc/" + std::to_string(pid) + "/stat";
  const unique_fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[1024];  // one line, read at once or not at all
  ssize_t size = -1;
  if (fd) do {
      size = ::read(fd.get(), text, sizeof text);
    } while (size < 0 && errno == EINTR);
  if (size <= 0) return fail(errc::not_found, path + ": " + std::strerror(errno));
  return parse_stat({text, static_cast<std::size_t>(size)});
}

// "SIZE RESIDENT SHARED ...", in pages.
std::uint64_t resident_bytes_of_process() noexcept {
  const unique_fd file(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  char text[128];
  const auto bytes = file ? ::read(file.get(), text, sizeof text) : -1;
  if (bytes <= 0) return 0;
  const std::string_view line(text, static_cast<std::size_t>(bytes));
  const auto begin = line.find(' ');
  if (begin == std::string_view::npos) return 0;
  std::uint64_t pages = 0;
  std::from_chars(line.data() + begin + 1, line.data() + line.size(), pages);
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

bool is_over(const process_stat& stat) {
  return stat.state == 'Z' || stat.state == 'X';
}

}  // namespace tidegate::runtime
