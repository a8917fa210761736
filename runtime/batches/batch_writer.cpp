#include "runtime/batches/batch_writer.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/prefetch.hpp"
#include "runtime/batches/row_batch.hpp"
#include "runtime/batches/row_parts.hpp"
#include "runtime/kernels/combine.hpp"

namespace tidegate::runtime {

namespace {

constexpr unsigned digit_bits = 11;  // counts of a digit stay in the L1 cache
constexpr std::size_t digits = std::size_t{1} << digit_bits;
// Rows ahead of the one that is being copied: they come from anywhere in the push.
constexpr std::size_t rows_ahead = 8;

}  // namespace

void batch_writer::begin(std::span<const std::uint64_t> ids, std::uint64_t key,
                         std::uint32_t parts) {
  TIDEGATE_ASSERT(parts >= 1 && parts <= limits::row_parts_max, "a number of parts");
  TIDEGATE_ASSERT(ids.size() < ~std::uint32_t{0}, "a push whose ids can be counted");
  if (key == key_ && begins_.size() == parts + std::size_t{1} && is_of(ids)) return;
  begins_.clear();  // nothing is known, if memory is short below
  ids_.assign(ids.begin(), ids.end());
  key_ = key;
  entries_.resize(ids.size());
  spare_.resize(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i)
    entries_[i] = {.id = ids[i],
                   .index = static_cast<std::uint32_t>(i),
                   .part = part_of_row(ids[i], key, parts)};
  sort_by_id();
  sort_by_part(parts);
  count_rows(parts);
}

void batch_writer::sort_by_id() {
  if (entries_.empty()) return;
  std::uint64_t differs = 0;
  for (const auto& item : entries_) differs |= item.id ^ entries_.front().id;
  for (unsigned shift = 0; shift < 64; shift += digit_bits) {
    const auto digit = [&](std::uint64_t id) { return (id >> shift) % digits; };
    if (digit(differs) == 0) continue;
    std::array<std::uint32_t, digits> begins{};
    for (const auto& item : entries_) ++begins[digit(item.id)];
    std::uint32_t before = 0;
    for (auto& begin : begins) before += std::exchange(begin, before);
    for (const auto& item : entries_) spare_[begins[digit(item.id)]++] = item;
    entries_.swap(spare_);
  }
}

void batch_writer::sort_by_part(std::uint32_t parts) {
  begins_.assign(parts + 1, 0);
  for (const auto& item : entries_) ++begins_[item.part + 1];
  for (std::uint32_t part = 0; part < parts; ++part) begins_[part + 1] += begins_[part];
  if (parts == 1) return;
  for (const auto& item : entries_) spare_[begins_[item.part]++] = item;
  entries_.swap(spare_);
  // Each begin has moved to the next one's.
  std::copy_backward(begins_.begin(), begins_.end() - 1, begins_.end());
  begins_.front() = 0;
}

void batch_writer::count_rows(std::uint32_t parts) {
  rows_.assign(parts, 0);
  rows_in_all_ = 0;
  for (std::uint32_t part = 0; part < parts; ++part) {
    const auto begin = begins_[part];
    for (auto i = begin; i < begins_[part + 1]; ++i)
      rows_[part] += i == begin || entries_[i].id != entries_[i - 1].id ? 1 : 0;
    rows_in_all_ += rows_[part];
  }
}

void batch_writer::write_ids(std::uint32_t part, std::span<std::uint64_t> ids) const {
  TIDEGATE_ASSERT(ids.size() == rows_[part], "room for the ids of the part");
  std::size_t row = 0;
  for (auto i = begins_[part]; i < begins_[part + 1]; ++i)
    if (i == begins_[part] || entries_[i].id != entries_[i - 1].id) ids[row++] = entries_[i].id;
}

void batch_writer::scatter(std::uint32_t part, std::span<const float> values, std::uint32_t dim,
                           std::span<float> out) const {
  TIDEGATE_ASSERT(
      values.size() == std::size_t{rows_[part]} * dim && out.size() == entries_.size() * dim,
      "values of each row, and room for each id");
  visit_ids(part, [&](std::size_t row, std::size_t index) {
    std::copy_n(values.data() + row * dim, dim, out.data() + index * dim);
  });
}

void batch_writer::write(std::uint32_t part, std::span<const float> gradients,
                         std::uint32_t dim, std::span<std::byte> memory, reduction by) const {
  TIDEGATE_ASSERT(gradients.size() == entries_.size() * dim, "a gradient for each id");
  const auto room = begin_row_batch(memory, rows_[part], dim);
  const auto row_of = [&](std::size_t i) {
    return gradients.data() + std::size_t{entries_[i].index} * dim;
  };
  const std::size_t end = begins_[part + 1];
  std::size_t row = 0;
  for (std::size_t i = begins_[part]; i < end; ++row) {
    const auto id = entries_[i].id;
    room.ids[row] = id;
    auto* const to = room.values.data() + row * dim;
    if (i + rows_ahead < end) prefetch(row_of(i + rows_ahead), dim);
    std::copy_n(row_of(i), dim, to);
    for (++i; i < end && entries_[i].id == id; ++i) {
      const auto* const more = row_of(i);
      if (is_planted(planted_bug::row_duplicates_take_the_last)) std::fill_n(to, dim, 0.0F);
      if (is_sum(by))
        for (std::uint32_t column = 0; column < dim; ++column) to[column] += more[column];
      else
        kernels::combine({.by = by}, to, more, to, dim);
    }
  }
}

}  // namespace tidegate::runtime
