#include "policies/worker/norm_book.hpp"

namespace tidegate::policies {

norm_book::norm_book() {
  for (std::size_t i = 0; i < window; ++i) clocks_[i].clock = i;
}

void norm_book::add_table(std::uint32_t table, std::size_t chunks) {
  const auto [at, fresh] = tables_.try_emplace(table);
  if (!fresh) return;
  at->second.chunks = chunks;
  for (auto& record : clocks_) record.missing += chunks;
}

bool norm_book::begin() {
  if (std::exchange(has_begun_, true)) return false;
  for (auto& record : clocks_) add_up(record);
  return true;
}

// Returns null for a clock before the one whose place it would take.
norm_book::clock_record* norm_book::begin(std::uint64_t clock) {
  auto& record = clocks_[clock % window];
  if (clock < record.clock) return nullptr;
  if (clock == record.clock) return &record;
  record = {.clock = clock, .missing = 0, .asks = {}, .is_known = false, .sum = 0.0};
  for (auto& [id, table] : tables_) {
    for (auto& told : table.parts[clock % window]) told.is_here = false;
    record.missing += table.chunks;
  }
  return &record;
}

bool norm_book::add_part(std::uint32_t table, std::uint32_t chunk, std::uint64_t clock,
                         double squares) {
  const auto at = tables_.find(table);
  if (at == tables_.end() || chunk >= at->second.chunks) return false;
  auto* const record = begin(clock);
  if (record == nullptr) return false;
  auto& parts = at->second.parts[clock % window];
  if (parts.empty()) parts.resize(at->second.chunks);
  auto& told = parts[chunk];
  told.squares = squares;  // measured again, it may be another
  if (!std::exchange(told.is_here, true)) --record->missing;
  return add_up(*record);
}

// In one order, whichever part came last.
bool norm_book::add_up(clock_record& into) {
  if (!has_begun_ || into.is_known || into.missing > 0 || tables_.empty()) return false;
  for (const auto& [id, table] : tables_)
    for (const auto& told : table.parts[into.clock % window]) into.sum += told.squares;
  into.is_known = true;
  return true;
}

bool norm_book::add_sum(std::uint64_t clock, double squares) {
  auto* const record = begin(clock);
  if (record == nullptr || record->is_known) return false;
  record->is_known = true;
  record->sum = squares;
  return true;
}

std::optional<double> norm_book::sum_of(std::uint64_t clock) const {
  const auto& record = clocks_[clock % window];
  if (record.clock != clock || !record.is_known) return {};
  return record.sum;
}

bool norm_book::asks(std::uint32_t table, std::uint32_t chunk, std::uint64_t clock) {
  auto* const record = begin(clock);
  if (record == nullptr || record->is_known) return false;
  const std::pair name(table, chunk);
  if (!record->asks) record->asks = name;
  return record->asks == name;
}

}  // namespace tidegate::policies
