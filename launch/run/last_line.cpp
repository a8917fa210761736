#include "launch/run/last_line.hpp"

#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/text/printable.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::launch {

namespace {

constexpr std::size_t line_bytes_shown = 160;
// Lines before the last one may be blank, and it may be longer than is shown.
constexpr std::uint64_t bytes_looked_at = 16 * 1024;

constexpr const char* line_ends = "\r\n";

}  // namespace

std::string last_line_of(std::string_view text) {
  while (!text.empty()) {
    const auto end = text.find_last_of(line_ends);
    const auto begin = end == std::string_view::npos ? 0 : end + 1;
    const auto line = printable(text.substr(begin));
    if (const auto first = line.find_first_not_of(' '); first != std::string::npos)
      return shortened(line.substr(first, line.find_last_not_of(' ') + 1 - first),
                       line_bytes_shown);
    text = text.substr(0, begin == 0 ? 0 : begin - 1);
  }
  return {};
}

std::string last_line_in(const std::string& path, std::uint64_t from) {
  const runtime::unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat found {};
  if (!file || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) return {};
  const auto end = static_cast<std::uint64_t>(found.st_size);
  if (end <= from) return {};
  const auto bytes = std::min(end - from, bytes_looked_at);
  std::string text(bytes, '\0');
  const auto count =
      ::pread(file.get(), text.data(), text.size(), static_cast<off_t>(end - bytes));
  return count <= 0
             ? std::string()
             : last_line_of(std::string_view(text).substr(0, static_cast<std::size_t>(count)));
}

}  // namespace tidegate::launch
