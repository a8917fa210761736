// The files of launch/simulate/scenarios, as they were when this program was built. Constant
// data.
#pragma once

#include <span>

namespace tidegate::simulate {

struct scenario_text {
  const char* source;  // file name
  const char* text;
};

std::span<const scenario_text> standard_texts();

}  // namespace tidegate::simulate
