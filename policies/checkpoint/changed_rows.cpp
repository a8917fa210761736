#include "policies/checkpoint/changed_rows.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "policies/checkpoint/image.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::policies {

using runtime::errc;
using runtime::status;

namespace {

// The numbers of rows, one after the other.
class number_reader {
 public:
  explicit number_reader(std::span<const float> numbers)
      : numbers_(numbers), rows_(numbers.size() / numbers_floats) {}

  std::size_t rows() const noexcept { return rows_; }
  std::uint64_t id(std::size_t row) const { return number(row, 0); }
  std::uint64_t clock(std::size_t row) const { return number(row, 1); }
  std::uint64_t pushes(std::size_t row) const { return number(row, 2); }

 private:
  std::uint64_t number(std::size_t row, std::size_t place) const {
    std::uint64_t value = 0;
    std::memcpy(&value, &numbers_[row * numbers_floats + 2 * place], sizeof value);
    return value;
  }

  std::span<const float> numbers_;
  std::size_t rows_;
};

}  // namespace

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
    if (before.clock(at) != rows.clock(row) || before.pushes(at) != rows.pushes(row))
      return {errc::corrupt, "row " + std::to_string(rows.id(row)) +
                                 " has not changed, and the checkpoint before has another"};
    std::copy_n(base.values.begin() + static_cast<std::ptrdiff_t>(at * width), width,
                out.begin());
  }
  if (!next.empty()) return {errc::corrupt, "fewer rows have changed than are there"};
  return {};
}

}  // namespace tidegate::policies
