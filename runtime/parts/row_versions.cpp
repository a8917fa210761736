#include "runtime/parts/row_versions.hpp"

#include <numeric>
#include <utility>

namespace tidegate::runtime {

void row_versions::begin_step(std::uint32_t from, std::uint32_t to) {
  TIDEGATE_ASSERT(is_current(from), "a step begins with the current version");
  for (auto& change : changes_) std::erase(change.names, to);
  std::erase(current_, to);
  out_of_order_ = false;
  notes_ = !current_.empty() && keeps_ > 0 && !is_planted(planted_bug::row_changes_not_noted);
  if (!notes_) {
    // Versions before cannot be read any more: what this step changes is not noted.
    for (auto& change : changes_) change.names.clear();
    current_.assign(1, to);
    return;
  }
  // The room of the oldest is used again; its numbers are written over, not cleared.
  const std::size_t most =
      keeps_ - (is_planted(planted_bug::row_oldest_change_forgotten) ? 1 : 0);
  if (changes_.empty() || changes_.size() < most) {
    const auto list = static_cast<std::uint32_t>(changes_.size());
    changes_.emplace_back().list = list;
  }
  std::rotate(changes_.begin(), changes_.end() - 1, changes_.end());
  changes_.front().rows.ids.clear();
  changes_.front().notes.clear();
  changes_.front().names.assign(current_.begin(), current_.end());
  current_.assign(1, to);
}

row_versions::note_room row_versions::room_for(std::span<const std::uint64_t> ids) {
  auto& change = changes_.front();
  auto& rows = change.rows;
  const auto before = rows.ids.size();
  rows.ids.insert(rows.ids.end(), ids.begin(), ids.end());
  if (dim_ == 0)
    for (auto note = before; note < rows.ids.size(); ++note)
      change.notes.push_back(static_cast<std::uint32_t>(note));
  if (rows.existed.size() < rows.ids.size()) {
    rows.existed.resize(rows.ids.size());
    rows.values.resize(rows.ids.size() * dim_);
  }
  return {std::span(rows.values).subspan(before * dim_, ids.size() * dim_),
          std::span(rows.existed).subspan(before, ids.size()),
          {.list = change.list, .first = static_cast<std::uint32_t>(before)}};
}

void row_versions::end_step(const index_view& rows) {
  if (!notes_) return;
  auto& noted = changes_.front().rows;
  noted.existed.resize(noted.ids.size());
  noted.values.resize(noted.ids.size() * dim_);
  if (std::exchange(out_of_order_, false)) sort(rows);
}

// Of a row that was noted twice, the first note is what it was before the step. A row that was
// not there before and is not now reads as if there were no note.
void row_versions::sort(const index_view& rows) {
  auto& [names, noted, list, notes] = changes_.front();
  places_.resize(noted.ids.size());
  std::iota(places_.begin(), places_.end(), 0U);
  std::sort(places_.begin(), places_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(noted.ids[a], a) < std::pair(noted.ids[b], b);
  });
  const auto last = std::unique(
      places_.begin(), places_.end(),
      [&](std::uint32_t a, std::uint32_t b) { return noted.ids[a] == noted.ids[b]; });
  numbers_.resize(noted.ids.size());
  rows.find(noted.ids, numbers_);
  sorted_.clear();
  sorted_notes_.clear();
  for (auto place = places_.begin(); place != last; ++place) {
    if (noted.existed[*place] == 0 && numbers_[*place] == no_row) continue;
    sorted_.ids.push_back(noted.ids[*place]);
    sorted_.existed.push_back(noted.existed[*place]);
    if (dim_ == 0) {
      sorted_notes_.push_back(notes[*place]);
      continue;
    }
    const auto* const values = noted.values.data() + std::size_t{*place} * dim_;
    sorted_.values.insert(sorted_.values.end(), values, values + dim_);
  }
  std::swap(noted, sorted_);
  std::swap(notes, sorted_notes_);
}

// Nothing has changed since a version that lies where the one after it does.
std::vector<const row_versions::step_change*> row_versions::kept(
    std::span<const std::uint32_t> names_kept) const {
  std::vector<const step_change*> found;
  const auto* names = &current_;
  auto next = changes_.begin();
  for (const auto name : names_kept) {
    auto& change = found.emplace_back(nullptr);
    if (is_among(*names, name)) continue;
    TIDEGATE_ASSERT(next != changes_.end() && is_among(next->names, name),
                    "a version that is kept");
    change = &*next;
    names = &next->names;
    ++next;
  }
  return found;
}

void row_versions::restore(std::uint32_t current, std::span<const std::uint32_t> kept,
                           std::span<const row_delta> rows) {
  TIDEGATE_ASSERT(kept.size() == rows.size(), "rows of each version");
  current_.assign(1, current);
  changes_.clear();
  auto* names = &current_;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (rows[i].ids.empty()) {
      names->push_back(kept[i]);
      continue;
    }
    const auto list = static_cast<std::uint32_t>(changes_.size());
    auto& change = changes_.emplace_back();
    change.names = {kept[i]};
    change.list = list;
    change.rows = rows[i];
    if (dim_ == 0) {
      change.rows.values.clear();
      change.notes.resize(change.rows.ids.size());
      std::iota(change.notes.begin(), change.notes.end(), 0U);
    }
    names = &changes_.back().names;
  }
}

}  // namespace tidegate::runtime
