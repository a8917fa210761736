#include "launch/text/display.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <sys/ioctl.h>
#include <utility>

namespace tidegate::launch {

namespace {

constexpr std::int64_t plain_interval_ms = 2000;
constexpr unsigned columns_least = 20;

// Bytes of a line without its escape sequences, which end with a letter.
std::size_t shown_columns(std::string_view line) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] != '\x1b')
      ++columns;
    else
      while (at + 1 < line.size() && std::isalpha(static_cast<unsigned char>(line[at])) == 0)
        ++at;
  }
  return columns;
}

}  // namespace

display::display(output_writer& writer, int fd, bool is_terminal)
    : writer_(writer), fd_(fd), is_terminal_(is_terminal) {}

// Up to the first live line, and clear from there. A terminal that has become narrower since
// has broken lines into several.
std::string display::erase() {
  if (shown_.empty()) return {};
  const auto columns = std::max<std::size_t>(1, width());
  std::size_t rows = 0;
  for (const auto& line : shown_)
    rows += std::max<std::size_t>(1, (shown_columns(line) + columns - 1) / columns);
  return "\r\x1b[" + std::to_string(rows) + "A\x1b[J";
}

void display::print(const std::string& text) {
  auto out = erase() + text + (text.ends_with('\n') ? "" : "\n");
  for (const auto& line : shown_) out += line + "\n";
  writer_.write(fd_, std::move(out));
}

void display::end_live() {
  writer_.write(fd_, erase());
  shown_.clear();
}

void display::live(const std::vector<std::string>& lines, bool changed, std::int64_t now_ms) {
  if (is_terminal_) {
    if (lines == shown_ || writer_.is_behind()) return;
    auto out = erase();
    for (const auto& line : lines) out += line + "\n";
    shown_ = lines;
    writer_.write(fd_, std::move(out));
    return;
  }
  if (writer_.is_behind() || (!changed && now_ms - printed_ms_ < plain_interval_ms)) return;
  printed_ms_ = now_ms;
  std::string out;
  for (const auto& line : lines) out += line + "\n";
  writer_.write(fd_, std::move(out));
}

std::size_t display::width() const {
  if (!is_terminal_) return 0;
  winsize size = {};
  if (::ioctl(fd_, TIOCGWINSZ, &size) != 0 || size.ws_col < columns_least) return 80;
  return size.ws_col;
}

std::size_t display::height() const {
  winsize size = {};
  const bool is_known = is_terminal_ && ::ioctl(fd_, TIOCGWINSZ, &size) == 0;
  return is_known && size.ws_col >= columns_least ? size.ws_row : 0;
}

}  // namespace tidegate::launch
