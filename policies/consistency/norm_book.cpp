#include "policies/consistency/norm_book.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/limits.hpp"

namespace tidegate::policies {

void norm_book::add_table(std::uint32_t table, std::size_t chunks) {
  if (!tables_.try_emplace(table, chunks).second) return;
  for (auto& record : clocks_) record.missing += chunks;
}

bool norm_book::begin() {
  if (std::exchange(has_begun_, true)) return false;
  for (auto& record : clocks_) add_up(record);
  return true;
}

const norm_book::clock_record* norm_book::find(std::uint64_t clock) const {
  const auto found =
      std::find_if(clocks_.begin(), clocks_.end(),
                   [&](const clock_record& record) { return record.clock == clock; });
  return found == clocks_.end() ? nullptr : &*found;
}

// Returns the record of a clock, which is new if it was not here.
norm_book::clock_record& norm_book::at(std::uint64_t clock) {
  if (const auto* known = find(clock)) return const_cast<clock_record&>(*known);
  auto& record = room(clock);
  record.clock = clock;
  record.missing = 0;
  record.has_asked = record.is_known = false;
  record.sum = 0.0;
  for (auto& [table, parts] : record.parts) std::fill(parts.begin(), parts.end(), part{});
  for (const auto& [table, chunks] : tables_) record.missing += chunks;
  return record;
}

// In the place of a clock that every shard has left behind, as a rule.
norm_book::clock_record& norm_book::room(std::uint64_t clock) {
  constexpr auto window = runtime::limits::clocks_in_flight_max;
  const auto older = [](const clock_record& a, const clock_record& b) {
    return std::pair(!a.is_known, a.clock) < std::pair(!b.is_known, b.clock);
  };
  const auto oldest = std::min_element(clocks_.begin(), clocks_.end(), older);
  if (oldest != clocks_.end() && oldest->is_known && oldest->clock + window <= clock)
    return *oldest;
  if (clocks_.size() == clocks_max) return *oldest;
  return clocks_.emplace_back();
}

norm_book::part* norm_book::part_of(clock_record& record, std::uint32_t table,
                                    std::uint32_t chunk) {
  const auto known = tables_.find(table);
  if (known == tables_.end() || chunk >= known->second) return nullptr;
  auto& parts = record.parts[table];
  if (parts.empty()) parts.resize(known->second);
  return &parts[chunk];
}

bool norm_book::add_part(std::uint32_t table, std::uint32_t chunk, std::uint64_t clock,
                         double squares) {
  auto& record = at(clock);
  auto* const found = part_of(record, table, chunk);
  if (found == nullptr) return false;
  found->squares = squares;  // measured again, it may be another
  if (!std::exchange(found->is_here, true)) --record.missing;
  return add_up(record);
}

void norm_book::forget_parts(std::uint32_t table, std::uint32_t chunk) {
  for (auto& record : clocks_) {
    auto* const found = record.is_known ? nullptr : part_of(record, table, chunk);
    if (found != nullptr && std::exchange(found->is_here, false)) ++record.missing;
    record.has_asked = false;
  }
}

// In one order, whichever part came last.
bool norm_book::add_up(clock_record& into) const {
  if (!has_begun_ || into.is_known || into.missing > 0 || tables_.empty()) return false;
  for (const auto& [table, parts] : into.parts)
    for (const auto& entry : parts) into.sum += entry.squares;
  into.is_known = true;
  return true;
}

bool norm_book::add_sum(std::uint64_t clock, double squares) {
  auto& record = at(clock);
  if (std::exchange(record.is_known, true)) return false;
  record.sum = squares;
  return true;
}

std::optional<double> norm_book::sum_of(std::uint64_t clock) const {
  const auto* record = find(clock);
  if (record == nullptr || !record->is_known) return {};
  return record->sum;
}

bool norm_book::asks(std::uint32_t table, std::uint32_t chunk, std::uint64_t clock) {
  auto& record = at(clock);
  auto* const found = part_of(record, table, chunk);
  if (found == nullptr || record.is_known) return false;
  if (record.has_asked && !std::exchange(found->is_repeated, true)) return false;
  record.has_asked = true;
  for (auto& [id, parts] : record.parts)
    for (auto& other : parts) other.is_repeated = false;
  found->is_repeated = true;
  return true;
}

}  // namespace tidegate::policies
