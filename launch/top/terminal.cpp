#include "launch/top/terminal.hpp"

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <ncurses.h>
#include <poll.h>
#include <string>
#include <unistd.h>
#include <utility>

namespace tidegate::launch {

namespace {

// Pairs of ncurses, of which 0 is the terminal's own.
constexpr short green = 1, yellow = 2, red = 3, blue = 4;

// Where there is no colour the shape of the bars says it all.
attr_t attributes_of(text_style style, bool has_color) {
  const auto pair = [&](short number, attr_t more = A_NORMAL) {
    return (has_color ? static_cast<attr_t>(COLOR_PAIR(number)) : attr_t{A_NORMAL}) | more;
  };
  switch (style) {
    case text_style::heading:
      return A_BOLD;
    case text_style::computes:
      return pair(green);
    case text_style::calls:
      return pair(blue);
    case text_style::waits:
      return pair(yellow);
    case text_style::good:
      return pair(green);
    case text_style::bad:
      return pair(red, A_BOLD);
    case text_style::plain:
      break;
  }
  return A_NORMAL;
}

terminal::key key_of(int character) {
  using key = terminal::key;
  switch (character) {
    case 'q':
    case 'Q':
      return key::quit;
    case KEY_UP:
    case 'k':
      return key::up;
    case KEY_DOWN:
    case 'j':
      return key::down;
    case KEY_PPAGE:
      return key::page_up;
    case KEY_NPAGE:
    case ' ':
      return key::page_down;
    case 's':
      return key::sort;
    default:
      return key::none;
  }
}

}  // namespace

runtime::expected<terminal> terminal::open(bool has_color) {
  std::setlocale(LC_CTYPE, "");
  // initscr() would end the process where the terminal is not known.
  if (::newterm(nullptr, stdout, stdin) == nullptr) {
    const char* name = std::getenv("TERM");
    return runtime::fail(
        runtime::errc::unavailable,
        "the terminal is not known: TERM is " +
            (name == nullptr ? std::string("not set") : "'" + std::string(name) + "'"));
  }
  terminal opened;
  opened.is_open_ = true;
  ::cbreak();
  ::noecho();
  ::keypad(stdscr, TRUE);
  ::curs_set(0);
  if (has_color && ::has_colors() && ::start_color() == OK && ::use_default_colors() == OK) {
    opened.has_color_ = true;
    ::init_pair(green, COLOR_GREEN, -1);
    ::init_pair(yellow, COLOR_YELLOW, -1);
    ::init_pair(red, COLOR_RED, -1);
    ::init_pair(blue, COLOR_BLUE, -1);
  }
  return opened;
}

terminal::terminal(terminal&& other) noexcept
    : is_open_(std::exchange(other.is_open_, false)), has_color_(other.has_color_) {}

terminal::~terminal() {
  if (is_open_) ::endwin();
}

std::size_t terminal::columns() const {
  return static_cast<std::size_t>(COLS);
}
std::size_t terminal::rows() const {
  return static_cast<std::size_t>(LINES);
}

void terminal::draw(const std::vector<styled_line>& lines) {
  ::erase();
  for (std::size_t row = 0; row < lines.size(); ++row) {
    ::move(static_cast<int>(row), 0);
    for (const auto& piece : lines[row]) {
      const auto look = attributes_of(piece.style, has_color_);
      ::attron(look);
      ::addnstr(piece.text.c_str(), static_cast<int>(piece.text.size()));
      ::attroff(look);
    }
  }
  ::refresh();
}

terminal::key terminal::wait_for_key(int milliseconds) {
  // A terminal that is gone would say at once, again and again, that there is no key.
  pollfd gone{.fd = STDIN_FILENO, .events = 0, .revents = 0};
  if (::poll(&gone, 1, 0) > 0) return key::quit;
  ::timeout(milliseconds);
  return key_of(::getch());
}

}  // namespace tidegate::launch
