#include "runtime/rows/row_index.hpp"

#include <algorithm>
#include <string>

#include "runtime/base/assert.hpp"
#include "runtime/rows/index_batches.hpp"
#include "runtime/rows/index_memory.hpp"

namespace tidegate::runtime {

void index_view::find(std::span<const std::uint64_t> ids, std::span<row_number> rows) const {
  TIDEGATE_ASSERT(rows.size() == ids.size(), "a row for each id");
  rows::find_batch(*this, ids.data(), rows.data(), ids.size());
}

std::uint32_t index_view::longest_probe() const {
  std::uint32_t longest = 0;
  for (std::uint32_t number = 0; number < buckets_used(); ++number) {
    const auto& bucket = bucket_at(number);
    for (std::uint32_t group = 0; group < rows::bucket_groups; ++group)
      for (std::uint32_t slot = 0; slot < rows::group_slots; ++slot) {
        if (bucket.groups[group].tags[slot] == 0) continue;
        const auto hash = rows::hash_of(bucket.id_at(group, slot), header().key);
        longest = std::max(longest, rows::step_of(rows::home_of(hash), group) + 1);
      }
  }
  return longest;
}

row_index::row_index(std::byte* memory, const index_layout& layout, std::uint64_t seed) noexcept
    : view_(memory, layout), memory_(memory) {
  rows::index_memory{memory, view_.layout()}.header().key = stream_key(seed, "row_index");
}

expected<std::size_t> row_index::find_or_add(std::span<const std::uint64_t> ids,
                                             std::span<row_number> rows,
                                             std::span<std::uint8_t> added) {
  TIDEGATE_ASSERT(rows.size() == ids.size() && added.size() == ids.size(),
                  "a row for each id, and whether it was added");
  const rows::index_memory index{memory_, view_.layout()};
  const auto before = view_.size();
  const auto done = rows::add_batch(index, ids.data(), rows.data(), added.data(), ids.size());
  if (done == ids.size()) return view_.size() - before;
  rows::undo(index, ids.data(), added.data(), done);
  return fail(errc::over_limit,
              "no room for another row: " + std::to_string(view_.size()) + " of " +
                  std::to_string(view_.capacity()) +
                  " are used; reserve more, or erase rows that are not needed");
}

void row_index::take_back(std::span<const std::uint64_t> ids,
                          std::span<const std::uint8_t> added) {
  TIDEGATE_ASSERT(added.size() == ids.size(), "whether each id was added");
  rows::undo({memory_, view_.layout()}, ids.data(), added.data(), ids.size());
}

void row_index::erase(std::span<const std::uint64_t> ids, std::span<row_number> rows) {
  TIDEGATE_ASSERT(rows.size() == ids.size(), "a row for each id");
  rows::erase_batch({memory_, view_.layout()}, ids.data(), rows.data(), ids.size());
}

}  // namespace tidegate::runtime
