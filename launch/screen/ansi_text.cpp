#include "launch/screen/ansi_text.hpp"

#include <cstdlib>

namespace tidegate::launch {

namespace {

// The parameters of a sequence; empty: the piece is as the terminal has it.
const char* parameters_of(text_style style, bool has_color) {
  switch (style) {
    case text_style::heading:
      return "1";
    case text_style::computes:
    case text_style::good:
      return has_color ? "32" : "";
    case text_style::calls:
      return has_color ? "34" : "";
    case text_style::waits:
      return has_color ? "33" : "";
    case text_style::bad:
      return has_color ? "1;31" : "1";
    case text_style::plain:
      break;
  }
  return "";
}

}  // namespace

std::string ansi_text(const styled_line& line, bool has_color) {
  std::string text;
  for (const auto& piece : line) {
    const std::string parameters = parameters_of(piece.style, has_color);
    text +=
        parameters.empty() ? piece.text : "\x1b[" + parameters + "m" + piece.text + "\x1b[0m";
  }
  return text;
}

bool wants_color() {
  const char* none = std::getenv("NO_COLOR");
  return none == nullptr || *none == '\0';
}

}  // namespace tidegate::launch
