// What a table does with an engine (row_engine.hpp).
#include "runtime/base/planted.hpp"
#include "runtime/rows/row_table.hpp"

namespace tidegate::runtime {

void row_table::write_new_with_engine(std::span<const std::uint64_t> ids,
                                      std::span<const row_number> rows,
                                      std::span<const std::uint8_t> added) {
  const std::size_t dim = layout_.shape.dim;
  new_rows_.clear();
  new_values_.clear();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (added[i] == 0) continue;
    new_rows_.push_back(rows[i]);
    new_values_.resize(new_rows_.size() * dim);
    write_initial(initial_, ids[i], std::span(new_values_).last(dim));
    slabs_.id(rows[i]) = ids[i];
    slabs_.use(rows[i]) = {};
  }
  engine_->begin(new_rows_, new_values_);
}

status row_table::no_room(const status& why) const {
  return {why.code(), "table " + name_ + ": " + why.message() +
                          ". Give its rows less (fewer rows, cluster.shards.device_memory), or "
                          "more shards"};
}

void row_table::step_with_engine(std::uint64_t clock, std::span<const row_number> rows,
                                 std::span<const float* const> gradients,
                                 const before_step& before) {
  engine_->prepare_step(rows);
  const bool is_late = is_planted(planted_bug::row_noted_after_its_step);
  if (before.notes && !is_late) engine_->note(*before.notes, rows);
  stepped_.clear();
  for (std::size_t i = 0; i < segments_.size(); ++i)
    stepped_.push_back({coefficients_[i],
                        {.first = static_cast<std::uint32_t>(segments_[i].column),
                         .columns = segments_[i].options.columns,
                         .state = static_cast<std::uint32_t>(segments_[i].state)}});
  engine_->step(stepped_, rows, gradients);
  for (const auto row : rows) {
    auto& use = slabs_.use(row);
    use.clock = clock;
    ++use.pushes;
  }
  if (before.notes && is_late) engine_->note(*before.notes, rows);
}

status row_table::note(std::span<const std::uint64_t> ids, const row_notes& into) {
  if (rows_.size() < ids.size()) rows_.resize(ids.size());
  const auto rows = std::span(rows_).first(ids.size());
  if (auto reserved = engine_->reserve_notes(into.list, into.first + ids.size());
      !reserved.ok())
    return no_room(reserved);
  index_.view().find(ids, rows);
  engine_->note(into, rows);
  return {};
}

}  // namespace tidegate::runtime
