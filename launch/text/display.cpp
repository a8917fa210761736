#include "launch/text/display.hpp"

#include <cerrno>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace tidegate::launch {

namespace {

constexpr std::int64_t plain_interval_ms = 2000;

}  // namespace

display::display(int fd, bool is_terminal) : fd_(fd), is_terminal_(is_terminal) {}

void display::write(const std::string& text) {
  std::string_view rest(text);
  while (!rest.empty()) {
    const auto n = ::write(fd_, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return;
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
}

// Up to the first live line, and clear from there.
std::string display::erase() {
  if (shown_.empty()) return {};
  return "\r\x1b[" + std::to_string(shown_.size()) + "A\x1b[J";
}

void display::print(const std::string& text) {
  auto out = erase() + text + (text.ends_with('\n') ? "" : "\n");
  for (const auto& line : shown_) out += line + "\n";
  write(out);
}

void display::end_live() {
  write(erase());
  shown_.clear();
}

void display::live(const std::vector<std::string>& lines, bool changed, std::int64_t now_ms) {
  if (is_terminal_) {
    if (lines == shown_) return;
    auto out = erase();
    for (const auto& line : lines) out += line + "\n";
    shown_ = lines;
    write(out);
    return;
  }
  if (!changed && now_ms - printed_ms_ < plain_interval_ms) return;
  printed_ms_ = now_ms;
  std::string out;
  for (const auto& line : lines) out += line + "\n";
  write(out);
}

std::size_t display::width() const {
  if (!is_terminal_) return 0;
  winsize size = {};
  if (::ioctl(fd_, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return 80;
  return size.ws_col;
}

std::size_t display::height() const {
  winsize size = {};
  return !is_terminal_ || ::ioctl(fd_, TIOCGWINSZ, &size) != 0 ? 0 : size.ws_row;
}

}  // namespace tidegate::launch
