#include "runtime/parts/candidate_rows.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::runtime {

expected<candidate_rows> candidate_rows::create(const std::string& name, std::uint64_t seed,
                                                std::uint64_t limit) {
  TIDEGATE_ASSERT(limit >= 1, "room for a candidate");
  auto counts = row_table::create({.name = name,
                                   .seed = seed,
                                   .capacity = limit + lifetime_block,
                                   .dim = 1,
                                   .optimizer = {},
                                   .initial = initial_kind::constant,
                                   .initial_scale = 0.0F});
  if (!counts) return fail(counts.error());
  counts->hide();  // a table has many parts, and nobody else reads it
  return candidate_rows(std::move(*counts), limit);
}

status candidate_rows::add(std::uint64_t clock, std::uint32_t count,
                           std::span<const std::uint64_t> ids,
                           std::span<std::uint8_t> admitted) {
  TIDEGATE_ASSERT(ids.size() <= lifetime_block && admitted.size() == ids.size(),
                  "one block of ids");
  zeros_.resize(lifetime_block);
  numbers_.resize(lifetime_block);
  const auto numbers = std::span(numbers_).first(ids.size());
  auto counted = counts_.update({.clock = clock}, ids, std::span(zeros_).first(ids.size()));
  if (!counted.ok()) return counted;
  const auto view = counts_.view();
  view.index().find(ids, numbers);
  ids_.clear();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    admitted[i] = view.slabs().use(numbers[i]).pushes >= count ? 1 : 0;
    if (admitted[i] != 0) ids_.push_back(ids[i]);
  }
  if (!is_planted(planted_bug::row_admitted_keeps_its_count)) counts_.erase(ids_);
  if (size() > limit_)
    counts_.erase(eviction_.find_first(counts_, eviction_order::lru, size() - left_of(limit_)));
  return {};
}

void candidate_rows::forget_unseen(std::uint64_t unseen, std::uint64_t now) {
  counts_.erase(eviction_.find_unseen(counts_.view(), unseen, now));
}

void candidate_rows::copy_to(std::vector<std::uint64_t>& ids,
                             std::vector<row_use>& uses) const {
  const auto view = counts_.view();
  std::vector<std::pair<std::uint64_t, row_number>> all;
  all.reserve(size());
  view.index().for_each([&](std::uint64_t id, row_number row) { all.emplace_back(id, row); });
  std::sort(all.begin(), all.end());
  for (const auto& [id, row] : all) {
    ids.push_back(id);
    uses.push_back(view.slabs().use(row));
  }
}

status candidate_rows::put(std::span<const std::uint64_t> ids, std::span<const row_use> uses) {
  const std::vector<float> zeros(ids.size());
  return counts_.put(ids, zeros, {}, uses);
}

}  // namespace tidegate::runtime
