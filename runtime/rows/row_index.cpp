#include "runtime/rows/row_index.hpp"

#include <algorithm>
#include <string>

#include "runtime/base/assert.hpp"
#include "runtime/rows/blocks.hpp"
#include "runtime/rows/index_memory.hpp"

namespace tidegate::runtime {

void index_view::find(std::span<const std::uint64_t> ids, std::span<row_number> rows) const {
  TIDEGATE_ASSERT(rows.size() == ids.size(), "a row for each id");
  rows::for_blocks(*this, ids.data(), ids.size(), [&](const rows::hashed_block& block) {
    for (std::size_t i = 0; i < block.count; ++i)
      rows[block.begin + i] = rows::row_of(*this, block, i, ids[block.begin + i]);
    return true;
  });
}

std::uint32_t index_view::longest_probe() const {
  std::uint32_t longest = 0;
  for (std::uint32_t number = 0; number < buckets_used(); ++number) {
    const auto& lines = bucket_at(number).lines;
    for (std::uint32_t line = 0; line < rows::bucket_lines; ++line)
      for (std::uint32_t slot = 0; slot < rows::line_slots; ++slot) {
        if ((lines[line].used >> slot & 1U) == 0) continue;
        const auto home = rows::home_of(rows::hash_of(lines[line].ids[slot], header().key));
        longest = std::max(longest, rows::step_of(home, line) + 1);
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
  std::size_t done = 0;
  rows::for_blocks(view_, ids.data(), ids.size(), [&](const rows::hashed_block& block) {
    for (std::size_t i = 0; i < block.count; ++i, ++done) {
      const auto hash = block.hashes[i];
      const auto home = rows::home_of(hash);
      // Buckets may have been split since the block was hashed.
      const auto& bucket = view_.bucket_of(hash);
      const auto at = rows::probe(bucket, home, ids[done]);
      added[done] = at.found() ? 0 : 1;
      rows[done] = at.found() ? bucket.lines[rows::probed_line(home, at.step)].rows[at.slot]
                              : rows::add(index, hash, ids[done]);
      if (rows[done] == no_row) return false;
    }
    return true;
  });
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
  const rows::index_memory index{memory_, view_.layout()};
  auto& header = index.header();
  rows::for_blocks(view_, ids.data(), ids.size(), [&](const rows::hashed_block& block) {
    for (std::size_t i = 0; i < block.count; ++i) {
      auto& row = rows[block.begin + i];
      row = rows::remove(index, block.hashes[i], ids[block.begin + i]);
      if (row != no_row) index.freed()[header.freed++] = row;
    }
    return true;
  });
}

}  // namespace tidegate::runtime
