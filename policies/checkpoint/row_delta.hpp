// Rows of a checkpoint that has only what has changed since another one. Each file has the ids
// of all rows, with the clock of their last push; rows that went are in none of the later ones,
// and a row that was not pushed since is as it was. Pure, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "policies/model/rank_progress.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

// Returns the least clock that a step after a cut can have, which has these ranks. Rows that
// were not pushed in a step of that clock or a later one have not changed since.
std::uint64_t first_clock_after(std::span<const rank_progress> ranks) noexcept;

// An array (values or states) of all rows of a part, `width` float32 of each, and the numbers
// of these rows as in a file (image.hpp), ascending by id.
struct rows_array {
  std::span<const float> numbers;
  std::span<const float> values;
};
// Puts together an array of a part: of each of its rows what `changed` has next, where the
// clock of its last push is `since` or later, else what `base` has of it. `into`: `width` of
// each row of `changed.numbers`. Errors: corrupt (there are not as many changed rows; a row is
// in neither).
runtime::status merge_changed(const rows_array& changed, std::uint64_t since,
                              const rows_array& base, std::size_t width, std::span<float> into);

}  // namespace tidegate::policies
