// What a program is told of a gradient with NaN or infinity. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/status.hpp"

namespace tidegate::actors {

struct not_finite_element {
  std::string table;
  std::string value;  // "NaN", "infinity"
  std::uint64_t element = 0;
  std::uint32_t rank = 0;
  std::uint64_t clock = 0;
};

inline runtime::status refuse_not_finite(const not_finite_element& found) {
  return {runtime::errc::not_finite,
          "the gradient of table '" + found.table + "' has " + found.value + " at element " +
              std::to_string(found.element) + " (worker " + std::to_string(found.rank) +
              ", clock " + std::to_string(found.clock) +
              "); refused. `gradients: {not_finite: allow}` lets such gradients pass"};
}

}  // namespace tidegate::actors
