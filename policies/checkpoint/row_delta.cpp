#include "policies/checkpoint/row_delta.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "policies/checkpoint/image.hpp"
#include "policies/model/clock_vector.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::policies {

using runtime::errc;
using runtime::status;

namespace {

constexpr std::size_t floats_of_numbers = row_numbers * sizeof(std::uint64_t) / sizeof(float);

// The numbers of rows, one after the other.
class number_reader {
 public:
  explicit number_reader(std::span<const float> numbers)
      : numbers_(numbers), rows_(numbers.size() / floats_of_numbers) {}

  std::size_t rows() const noexcept { return rows_; }
  std::uint64_t id(std::size_t row) const { return number(row, 0); }
  std::uint64_t clock(std::size_t row) const { return number(row, 1); }

 private:
  std::uint64_t number(std::size_t row, std::size_t place) const {
    std::uint64_t value = 0;
    std::memcpy(&value, &numbers_[row * floats_of_numbers + 2 * place], sizeof value);
    return value;
  }

  std::span<const float> numbers_;
  std::size_t rows_;
};

}  // namespace

std::uint64_t first_clock_after(std::span<const rank_progress> ranks) noexcept {
  auto least = clock_vector::infinity;
  for (const auto& rank : ranks) least = std::min(least, rank.next);
  return ranks.empty() ? 0 : least;
}

status merge_changed(const rows_array& changed, std::uint64_t since, const rows_array& base,
                     std::size_t width, std::span<float> into) {
  const number_reader rows(changed.numbers);
  const number_reader before(base.numbers);
  TIDEGATE_ASSERT(
      into.size() == rows.rows() * width && base.values.size() == before.rows() * width,
      "whole arrays");
  auto next = changed.values;
  std::size_t at = 0;  // of the rows before
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    const auto out = into.subspan(row * width, width);
    if (rows.clock(row) >= since) {
      if (next.size() < width) return {errc::corrupt, "more rows have changed than are there"};
      std::copy_n(next.begin(), width, out.begin());
      next = next.subspan(width);
      continue;
    }
    while (at < before.rows() && before.id(at) < rows.id(row)) ++at;
    if (at == before.rows() || before.id(at) != rows.id(row))
      return {errc::corrupt, "row " + std::to_string(rows.id(row)) +
                                 " has not changed, and the checkpoint before has none"};
    std::copy_n(base.values.begin() + static_cast<std::ptrdiff_t>(at * width), width,
                out.begin());
  }
  if (!next.empty()) return {errc::corrupt, "fewer rows have changed than are there"};
  return {};
}

}  // namespace tidegate::policies
