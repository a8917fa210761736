// All that a part of a table of rows is, as plain arrays: as checkpoints write it, and as one
// process hands it to another. Values, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/base/status.hpp"
#include "runtime/rows/row_layout.hpp"

namespace tidegate::runtime {

// Rows as they were before a step changed them.
struct row_delta {
  std::vector<std::uint64_t> ids;     // ascending
  std::vector<std::uint8_t> existed;  // 0: the step made the row
  std::vector<float> values;          // dim of each id

  void clear() {
    ids.clear();
    existed.clear();
    values.clear();
  }
  friend bool operator==(const row_delta&, const row_delta&) = default;
};

struct row_image {
  std::uint32_t dim = 0;
  std::uint32_t state_floats = 0;
  std::vector<std::uint64_t> ids;  // ascending
  std::vector<row_use> uses;       // of each id
  std::vector<float> values;       // dim of each
  std::vector<float> states;       // state_floats of each
  // Ids without a row whose pushes are counted, ascending, and their counts.
  std::vector<std::uint64_t> candidates;
  std::vector<row_use> candidate_uses;
  std::uint64_t clock = 0;  // the latest of the steps made
  // What changed after each version that is kept, the newest first, up to the version before it
  // in this list; after the first up to the current one.
  std::vector<row_delta> kept;

  friend bool operator==(const row_image&, const row_image&) = default;
};

// Where the floats of an image lie in its bytes.
struct image_floats {
  std::span<float> values;
  std::span<float> states;
  std::vector<std::span<float>> kept;  // the values of each
};

// As bytes for another process of this machine's byte order; a multiple of 8 of them.
std::uint64_t image_bytes(const row_image& image) noexcept;
// `into`: image_bytes(image), aligned to 8 bytes.
image_floats encode_image(const row_image& image, std::span<std::byte> into);
// Errors: corrupt (not of this form; ids that do not ascend).
expected<row_image> decode_image(std::span<const std::byte> bytes);

}  // namespace tidegate::runtime
