#include "runtime/batches/batch_writer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/prefetch.hpp"
#include "runtime/batches/row_batch.hpp"
#include "runtime/batches/row_parts.hpp"
#include "runtime/kernels/combine.hpp"

namespace tidegate::runtime {

namespace {

constexpr std::size_t buckets_max = 2048;  // their ends stay in the L1 cache
// More than so many ids of a bucket are sorted as any are.
constexpr std::size_t small_bucket = 24;
// Rows ahead of the one that is being copied: they come from anywhere in the push.
constexpr std::size_t rows_ahead = 8;

// Most buckets have an id or two.
template <class Entry>
void sort_bucket(std::span<Entry> some) {
  if (some.size() > small_bucket) {
    std::sort(some.begin(), some.end(), [](const Entry& a, const Entry& b) {
      return a.id != b.id ? a.id < b.id : a.index < b.index;
    });
    return;
  }
  for (std::size_t i = 1; i < some.size(); ++i) {
    const auto item = some[i];
    auto at = i;
    for (; at > 0 && some[at - 1].id > item.id; --at) some[at] = some[at - 1];
    some[at] = item;
  }
}

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
  deal_to_parts(parts);
  for (std::uint32_t part = 0; part < parts; ++part) sort_part(part);
  entries_.swap(spare_);
  count_rows(parts);
}

// Ids keep their order within a part.
void batch_writer::deal_to_parts(std::uint32_t parts) {
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

// Equal ids keep their order.
void batch_writer::sort_part(std::uint32_t part) {
  const auto from =
      std::span(entries_).subspan(begins_[part], begins_[part + 1] - begins_[part]);
  const auto to = std::span(spare_).subspan(begins_[part], from.size());
  if (from.empty()) return;
  auto least = from.front().id, greatest = least;
  for (const auto& item : from) {
    least = std::min(least, item.id);
    greatest = std::max(greatest, item.id);
  }
  const auto buckets = std::min(buckets_max, std::bit_ceil(from.size()));
  const auto range_bits = std::bit_width(greatest - least);
  const auto bucket_bits = std::bit_width(buckets - 1);
  const auto shift = range_bits > bucket_bits ? range_bits - bucket_bits : 0;
  const auto bucket_of = [&](const entry& item) { return (item.id - least) >> shift; };
  std::array<std::uint32_t, buckets_max> ends{};
  for (const auto& item : from) ++ends[bucket_of(item)];
  std::uint32_t before = 0;
  for (std::size_t i = 0; i < buckets; ++i) before += std::exchange(ends[i], before);
  for (const auto& item : from) to[ends[bucket_of(item)]++] = item;
  if (shift == 0) return;  // the ids of a bucket are equal
  std::uint32_t begin = 0;
  for (std::size_t i = 0; i < buckets; ++i) {
    sort_bucket(to.subspan(begin, ends[i] - begin));
    begin = ends[i];
  }
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
