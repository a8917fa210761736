// Lines whose pieces have styles. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tidegate::launch {

enum class text_style : std::uint8_t { plain, heading, computes, calls, waits, good, bad };

struct styled_text {
  std::string text;
  text_style style = text_style::plain;

  friend bool operator==(const styled_text&, const styled_text&) = default;
};

using styled_line = std::vector<styled_text>;

}  // namespace tidegate::launch
