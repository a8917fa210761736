#include "launch/bench/rows_reference.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>

namespace tidegate::bench {

namespace {

constexpr std::uint32_t rows_compared_max = 1000;

rows_options compared_of(const rows_options& options, std::uint32_t every) {
  auto own = options;
  own.rows = (options.rows + every - 1) / every;
  return own;
}

}  // namespace

rows_reference::rows_reference(const rows_options& options)
    : dim_(options.dim),
      every_((options.rows + rows_compared_max - 1) / rows_compared_max),
      rows_(compared_of(options, every_)) {
  for (std::uint32_t n = 0; n < compared_of(options, every_).rows; ++n) {
    all_.push_back(n);
    ids_.push_back(id_of_row(std::uint64_t{n} * every_));
  }
}

void rows_reference::step_all() {
  step(all_, 1);
}

void rows_reference::step(std::span<const drawn_rows> batches) {
  std::map<runtime::row_number, std::uint32_t> pushes;
  for (const auto& batch : batches)
    for (const auto number : batch.numbers)
      if (number % every_ == 0) ++pushes[number / every_];
  for (std::uint32_t count = 1; count <= batches.size(); ++count) {
    std::vector<runtime::row_number> own;
    for (const auto& [number, times] : pushes)
      if (times == count) own.push_back(number);
    step(own, count);
  }
}

void rows_reference::step(std::span<const runtime::row_number> own, std::uint32_t pushes) {
  rows_.update(own, std::vector<float>(own.size() * dim_, static_cast<float>(pushes)));
}

runtime::status rows_reference::check(std::span<const float> values) const {
  std::vector<float> expected(values.size());
  rows_.gather(all_, expected);
  const auto [right, wrong] =
      std::mismatch(expected.begin(), expected.end(), values.begin(), values.end());
  if (right == expected.end()) return {};
  const auto at = static_cast<std::size_t>(right - expected.begin());
  char text[80];
  std::snprintf(text, sizeof text, "expected %.9g, found %.9g", double{*right}, double{*wrong});
  return {runtime::errc::corrupt, "wrong row of id " + std::to_string(ids_[at / dim_]) +
                                      ", column " + std::to_string(at % dim_) + ": " + text};
}

}  // namespace tidegate::bench
