// Styled lines as text with the escape sequences of ECMA-48 (SGR), which every terminal of
// today obeys. Pure, any thread.
#pragma once

#include <string>

#include "launch/screen/styled_text.hpp"

namespace tidegate::launch {

// `has_color`: without it only what needs no colour, as bold, is told.
std::string ansi_text(const styled_line& line, bool has_color);

// Returns false where the environment has NO_COLOR (no-color.org), of any value but an empty
// one.
bool wants_color();

}  // namespace tidegate::launch
