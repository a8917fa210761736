#include "runtime/parts/row_part.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/kernels/fused.hpp"
#include "runtime/kernels/plugins.hpp"

namespace tidegate::runtime {

expected<row_part> row_part::create(const row_part_options& options) {
  if (options.rows.engines != nullptr && options.lifetime.rows > 0 &&
      options.lifetime.by == eviction_order::l2)
    return fail(errc::invalid_argument,
                "table " + options.rows.name +
                    ": evict.by l2 looks at all values, which lie on a device");
  auto table = row_table::create(options.rows);
  if (!table) return fail(table.error());
  std::optional<candidate_rows> candidates;
  if (!options.lifetime.admits_at_once()) {
    auto counts = candidate_rows::create(options.rows.name, options.rows.seed,
                                         options.lifetime.candidates);
    if (!counts) return fail(counts.error());
    candidates = std::move(*counts);
  }
  return row_part(options, std::move(*table), std::move(candidates));
}

status row_part::apply(const step& next, std::span<const batch_merger::input> batches) {
  const kernels::rules_watch watch(options_.rows.optimizer);
  is_sorted_ = false;
  versions_.begin_step(next.from, next.to);
  const auto before = clock_;
  clock_ = std::max(clock_, next.options.clock);
  // First: a row that is due to go is not kept by a push that comes too late.
  if (!(is_planted(planted_bug::row_evicted_on_the_primary_only) && !next.keeps_sum))
    if (auto evicted = evict_unseen(before); !evicted.ok()) return evicted;
  if (auto updated = sum_and_update(next, batches); !updated.ok()) return updated;
  versions_.end_step(table_.view().index());
  return {};
}

template <class Visit>
status row_part::visit_sums(std::span<const batch_merger::input> batches, const Visit& visit) {
  merger_.begin(batches, dim(), kernels::combination_of(options_.rows.optimizer));
  ids_.resize(block_rows);
  values_.resize(block_rows * dim());
  gradients_.resize(block_rows);
  while (const auto rows =
             merger_.next(block_rows, ids_.data(), gradients_.data(), values_.data())) {
    auto visited = visit(std::span(ids_).first(rows), std::span(gradients_).first(rows));
    if (!visited.ok()) return visited;
  }
  return {};
}

double row_part::measure(std::span<const batch_merger::input> batches, float scale) {
  kernels::squares sums{};
  const auto measured = visit_sums(
      batches, [&](std::span<const std::uint64_t>, std::span<const float* const> gradients) {
        for (const auto* const row : gradients) kernels::add_squares(row, scale, dim(), sums);
        return status();
      });
  TIDEGATE_ASSERT(measured.ok(), "nothing fails that changes nothing");
  return kernels::total_of(sums);
}

status row_part::sum_and_update(const step& next,
                                std::span<const batch_merger::input> batches) {
  if (batches.size() == 1 && !next.keeps_sum) {
    const auto& batch = batches.front().batch;
    return update(next.options, batch.ids, rows_of(batch.values));
  }
  if (next.keeps_sum) {
    merger_.begin(batches, dim(), kernels::combination_of(options_.rows.optimizer));
    auto& sum = sums_[next.options.clock % sums_kept];
    const auto rows = static_cast<std::uint32_t>(merger_.rows_left());
    const auto room = begin_row_batch(sum.resize(row_batch_bytes(rows, dim())), rows, dim());
    merger_.next(rows, room.ids.data(), room.values.data());
    return update(next.options, room.ids, rows_of(room.values));
  }
  return visit_sums(batches, [&](std::span<const std::uint64_t> ids,
                                 std::span<const float* const> gradients) {
    return update(next.options, ids, gradients);
  });
}

std::span<const float* const> row_part::rows_of(std::span<const float> values) {
  gradients_.resize(values.size() / dim());
  for (std::size_t i = 0; i < gradients_.size(); ++i) gradients_[i] = values.data() + i * dim();
  return gradients_;
}

// Blocks of a step are the same for whoever makes it.
status row_part::update(const row_step& step, std::span<const std::uint64_t> ids,
                        std::span<const float* const> gradients) {
  if (options_.lifetime.admits_at_once() && options_.lifetime.is_eternal())
    return update_block(step, ids, gradients);
  for (std::size_t first = 0; first < ids.size(); first += lifetime_block) {
    const auto count = std::min(lifetime_block, ids.size() - first);
    const auto some = ids.subspan(first, count);
    const auto of_some = gradients.subspan(first, count);
    admitted_rows admitted{some, of_some};
    if (candidates_)
      if (auto counted = admit(admitted); !counted.ok()) return counted;
    if (auto updated = update_block(step, admitted.ids, admitted.gradients); !updated.ok())
      return updated;
    const auto limit = options_.lifetime.rows;
    if (limit == 0 || rows() <= limit) continue;
    auto evicted =
        evict(eviction_.find_first(table_, options_.lifetime.by, rows() - left_of(limit)));
    if (!evicted.ok()) return evicted;
  }
  return {};
}

status row_part::update_block(const row_step& step, std::span<const std::uint64_t> ids,
                              std::span<const float* const> gradients) {
  auto noted = step;
  noted.latest = clock_;
  if (!versions_.notes()) return table_.update(noted, ids, gradients, {});
  const auto [values, existed, notes] = versions_.room_for(ids);
  row_table::before_step before{.values = values, .is_new = existed};
  if (table_.engine() != nullptr) before.notes = notes;
  auto updated = table_.update(noted, ids, gradients, before);
  for (auto& row : existed) row = row == 0 ? 1 : 0;
  return updated;
}

status row_part::admit(admitted_rows& block) {
  const auto [ids, gradients] = block;
  numbers_.resize(ids.size());
  table_.view().index().find(ids, numbers_);
  new_ids_.clear();
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (numbers_[i] == no_row) new_ids_.push_back(ids[i]);
  if (new_ids_.empty()) return {};
  admitted_.resize(new_ids_.size());
  if (auto counted =
          candidates_->add(clock_, options_.lifetime.admit_count, new_ids_, admitted_);
      !counted.ok())
    return counted;
  admitted_ids_.clear();
  admitted_gradients_.clear();
  std::size_t next = 0;  // of the new ids
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (numbers_[i] == no_row && admitted_[next++] == 0) continue;
    admitted_ids_.push_back(ids[i]);
    admitted_gradients_.push_back(gradients[i]);
  }
  block = {admitted_ids_, admitted_gradients_};
  return {};
}

status row_part::evict(const std::vector<std::uint64_t>& ids) {
  if (ids.empty()) return {};
  if (versions_.notes() && !is_planted(planted_bug::row_evicted_not_noted)) {
    const auto [values, existed, notes] = versions_.room_for(ids);
    if (table_.engine() == nullptr)
      table_.gather(ids, values);
    else if (auto noted = table_.note(ids, notes); !noted.ok())
      return noted;
    std::fill(existed.begin(), existed.end(), 1);
    versions_.note_out_of_order();
  }
  table_.erase(ids);
  return {};
}

status row_part::evict_unseen(std::uint64_t before) {
  const auto unseen = options_.lifetime.unseen;
  if (!looks_for_unseen(unseen, before, clock_)) return {};
  auto evicted = evict(eviction_.find_unseen(table_.view(), unseen, clock_));
  if (candidates_) candidates_->forget_unseen(unseen, clock_);
  return evicted;
}

void row_part::keep_sum(std::uint64_t clock, std::span<const std::byte> batch) {
  sums_[clock % sums_kept].assign(batch);
}

status row_part::restore(row_image image, std::uint32_t current,
                         std::span<const std::uint32_t> kept) {
  if (image.dim != dim() || image.state_floats != state_floats() ||
      image.kept.size() != kept.size())
    return {errc::corrupt, "rows of " + std::to_string(image.dim) + " values and " +
                               std::to_string(image.state_floats) + " of state, " +
                               std::to_string(image.kept.size()) + " versions before; table " +
                               options_.rows.name + " has others"};
  const auto& lifetime = options_.lifetime;
  if ((lifetime.rows > 0 && image.ids.size() > lifetime.rows) ||
      image.candidates.size() > lifetime.candidates)
    return {errc::corrupt, std::to_string(image.ids.size()) + " rows and " +
                               std::to_string(image.candidates.size()) + " candidates; table " +
                               options_.rows.name + " has fewer in a part"};
  auto fresh = create(options_);
  if (!fresh) return fresh.error();
  table_ = std::move(fresh->table_);
  candidates_ = std::move(fresh->candidates_);
  clock_ = image.clock;
  history_ = draw_history();
  is_sorted_ = false;
  versions_.restore(current, kept, image.kept);
  if (candidates_) {
    const auto counted = candidates_->put(image.candidates, image.candidate_uses);
    if (!counted.ok()) return counted;
  }
  const auto* const engine = table_.engine();
  const auto from = std::make_shared<const row_image>(std::move(image));
  const row_memory_owner owner{.object = from};
  if (auto put = table_.put(from->ids, from->values, from->states, from->uses, owner);
      engine == nullptr || !put.ok())
    return put;
  std::uint32_t list = 0;
  for (const auto& delta : from->kept) {
    if (delta.ids.empty()) continue;
    if (auto reserved = table_.engine()->reserve_notes(list, delta.ids.size()); !reserved.ok())
      return reserved;
    table_.engine()->put_notes({.list = list++}, delta.values, owner);
  }
  return {};
}

}  // namespace tidegate::runtime
