// Rows of a checkpoint that has only what has changed since another one. Each file has the ids
// of all rows, with the clock and number of their pushes; rows that went are in none of the
// later ones, and a row that was not pushed since is as it was. Pure, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.hpp"

namespace tidegate::policies {

// An array (values or states) of all rows of a part, `width` float32 of each, and the numbers
// of these rows as in a file (image.hpp), ascending by id.
struct rows_array {
  std::span<const float> numbers;
  std::span<const float> values;
};
// Puts together an array of a part: of each of its rows what `changed` has next, where the
// clock of its last push is `since` or later, else what `base` has of it. `into`: `width` of
// each row of `changed.numbers`. Errors: corrupt (there are not as many changed rows; a row
// that has not changed is not in the base, or was pushed at another time there).
runtime::status merge_changed(const rows_array& changed, std::uint64_t since,
                              const rows_array& base, std::size_t width, std::span<float> into);

}  // namespace tidegate::policies
