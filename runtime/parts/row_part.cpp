#include "runtime/parts/row_part.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <random>
#include <string>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/kernels/plugins.hpp"
#include "runtime/parts/row_lease.hpp"

namespace tidegate::runtime {

expected<row_part> row_part::create(const row_part_options& options) {
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
    evict_unseen(before);
  if (auto updated = sum_and_update(next, batches); !updated.ok()) return updated;
  versions_.end_step(table_.view().index());
  return {};
}

status row_part::sum_and_update(const step& next,
                                std::span<const batch_merger::input> batches) {
  if (batches.size() == 1 && !next.keeps_sum) {
    const auto& batch = batches.front().batch;
    return update(next.options, batch.ids, rows_of(batch.values));
  }
  merger_.begin(batches, dim(), kernels::combination_of(options_.rows.optimizer));
  if (next.keeps_sum) {
    auto& sum = sums_[next.options.clock % sums_kept];
    const auto rows = static_cast<std::uint32_t>(merger_.rows_left());
    const auto room = begin_row_batch(sum.resize(row_batch_bytes(rows, dim())), rows, dim());
    merger_.next(rows, room.ids.data(), room.values.data());
    return update(next.options, room.ids, rows_of(room.values));
  }
  ids_.resize(block_rows);
  values_.resize(block_rows * dim());
  gradients_.resize(block_rows);
  while (const auto rows =
             merger_.next(block_rows, ids_.data(), gradients_.data(), values_.data())) {
    auto updated =
        update(next.options, std::span(ids_).first(rows), std::span(gradients_).first(rows));
    if (!updated.ok()) return updated;
  }
  return {};
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
    if (limit > 0 && rows() > limit)
      evict(eviction_.find_first(table_, options_.lifetime.by, rows() - left_of(limit)));
  }
  return {};
}

status row_part::update_block(const row_step& step, std::span<const std::uint64_t> ids,
                              std::span<const float* const> gradients) {
  auto noted = step;
  noted.latest = clock_;
  if (!versions_.notes()) return table_.update(noted, ids, gradients, {});
  const auto [values, existed] = versions_.room_for(ids);
  auto updated = table_.update(noted, ids, gradients, {.values = values, .is_new = existed});
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

void row_part::evict(const std::vector<std::uint64_t>& ids) {
  if (ids.empty()) return;
  if (versions_.notes() && !is_planted(planted_bug::row_evicted_not_noted)) {
    const auto [values, existed] = versions_.room_for(ids);
    table_.gather(ids, values);
    std::fill(existed.begin(), existed.end(), 1);
    versions_.note_out_of_order();
  }
  table_.erase(ids);
}

void row_part::evict_unseen(std::uint64_t before) {
  const auto unseen = options_.lifetime.unseen;
  if (!looks_for_unseen(unseen, before, clock_)) return;
  evict(eviction_.find_unseen(table_.view(), unseen, clock_));
  if (candidates_) candidates_->forget_unseen(unseen, clock_);
}

void row_part::keep_sum(std::uint64_t clock, std::span<const std::byte> batch) {
  sums_[clock % sums_kept].assign(batch);
}

std::uint64_t row_part::answer_bytes(const row_request& request) const {
  const auto ids = request.ids.size();
  if (request.kind == row_request_kind::gather) return gather_answer_bytes(ids, dim());
  if (request.kind == row_request_kind::changes) return row_changes_bytes(ids, ids, dim());
  return row_batch_bytes(request.rows_max, dim());
}

std::size_t row_part::answer(std::uint32_t version_buffer, const row_request& request,
                             std::span<std::byte> into) const {
  if (request.kind == row_request_kind::scan) return scan(version_buffer, request, into);
  if (request.kind == row_request_kind::changes) return changes(version_buffer, request, into);
  TIDEGATE_ASSERT(into.size() == answer_bytes(request), "room for the answer");
  if (may_lease(version_buffer, request)) {
    table_.expect_reads(request.ids);
    encode({.place = table_.place(), .version = table_.view().version()},
           into.first(row_lease_bytes));
    return row_lease_bytes;
  }
  const auto floats = request.ids.size() * dim();
  auto* values = reinterpret_cast<float*>(into.data());
  gather(version_buffer, request.ids, {values, floats});
  std::fill(into.begin() + static_cast<std::ptrdiff_t>(floats * sizeof(float)), into.end(),
            std::byte{0});
  return into.size();
}

// Nobody else has such a number, however often a process of a shard begins: parts of two
// histories may have had other steps of the same clock.
std::uint64_t row_part::draw_history() {
  static thread_local std::random_device device;
  const auto high = std::uint64_t{device()} << 32;
  return std::max<std::uint64_t>(high | device(), 1);
}

// A row of the clock of the mark may have been stepped before or after it. One that is not
// there may have been erased since.
bool row_part::has_changed(row_number row, const row_mark& since) const {
  if (row == no_row)
    return !options_.lifetime.is_eternal() && !is_planted(planted_bug::row_erased_not_a_change);
  const auto clock = table_.view().slabs().use(row).clock;
  if (is_planted(planted_bug::row_change_of_the_same_clock_missed)) return clock > since.clock;
  return clock >= since.clock;
}

std::size_t row_part::changes(std::uint32_t version_buffer, const row_request& request,
                              std::span<std::byte> into) const {
  const auto ids = request.ids;
  const bool is_current = versions_.is_current(version_buffer);
  const bool knows_mark =
      request.since.history == history_ ||
      (request.since.history != 0 && is_planted(planted_bug::row_change_of_another_history));
  const bool all = !is_current || !knows_mark;
  changed_numbers_.resize(ids.size());
  if (!all) table_.view().index().find(ids, changed_numbers_);
  changed_ids_.clear();
  changed_bits_.assign(row_changes_words(ids.size()), 0);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!all && !has_changed(changed_numbers_[i], request.since)) continue;
    changed_ids_.push_back(ids[i]);
    changed_bits_[i / 64] |= std::uint64_t{1} << (i % 64);
  }
  row_changes_header header;
  header.rows = static_cast<std::uint32_t>(ids.size());
  header.changed = static_cast<std::uint32_t>(changed_ids_.size());
  if (is_current) header.mark = {.history = history_, .clock = clock_};
  const auto bytes = row_changes_bytes(header.rows, header.changed, dim());
  const auto room = begin_row_changes(into.first(bytes), header, dim());
  std::copy(changed_bits_.begin(), changed_bits_.end(), room.bits.begin());
  gather(version_buffer, changed_ids_, room.values);
  return bytes;
}

// A reader is told of values and leases by their sizes.
bool row_part::may_lease(std::uint32_t version_buffer, const row_request& request) const {
  return request.may_lease && answer_bytes(request) > row_lease_bytes &&
         (versions_.is_current(version_buffer) ||
          is_planted(planted_bug::row_lease_of_another_version));
}

void row_part::gather(std::uint32_t version_buffer, std::span<const std::uint64_t> ids,
                      std::span<float> out) const {
  table_.gather(ids, out);
  versions_.visit(version_buffer, [&](const row_delta& rows) {
    auto at = rows.ids.begin();
    for (std::size_t i = 0; i < ids.size() && at != rows.ids.end(); ++i) {
      at = std::lower_bound(at, rows.ids.end(), ids[i]);
      if (at == rows.ids.end() || *at != ids[i]) continue;
      const auto row = static_cast<std::size_t>(at - rows.ids.begin());
      std::copy_n(rows.values.data() + row * dim(), dim(), out.data() + i * dim());
    }
  });
}

std::vector<std::size_t> row_part::places_by_number() const {
  const auto& all = sorted_rows();
  std::vector<std::size_t> places(all.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::sort(places.begin(), places.end(),
            [&](std::size_t a, std::size_t b) { return all[a].number < all[b].number; });
  return places;
}

const std::vector<row_part::sorted_row>& row_part::sorted_rows() const {
  if (std::exchange(is_sorted_, true)) return sorted_;
  sorted_.clear();
  sorted_.reserve(table_.size());
  table_.view().index().for_each([&](std::uint64_t id, row_number number) {
    sorted_.push_back({id, number});
  });
  std::sort(sorted_.begin(), sorted_.end(),
            [](const sorted_row& a, const sorted_row& b) { return a.id < b.id; });
  return sorted_;
}

std::vector<std::uint64_t> row_part::ids_of(std::uint32_t version_buffer) const {
  std::vector<std::uint64_t> ids;
  ids.reserve(table_.size());
  for (const auto& row : sorted_rows()) ids.push_back(row.id);
  versions_.visit(version_buffer, [&](const row_delta& rows) {
    std::vector<std::uint64_t> were;
    for (std::size_t i = 0; i < rows.ids.size(); ++i)
      if (rows.existed[i] != 0) were.push_back(rows.ids[i]);
    std::vector<std::uint64_t> others;
    std::set_difference(ids.begin(), ids.end(), rows.ids.begin(), rows.ids.end(),
                        std::back_inserter(others));
    ids.clear();
    std::set_union(others.begin(), others.end(), were.begin(), were.end(),
                   std::back_inserter(ids));
  });
  return ids;
}

// Of the current version, which most pages are of, the rows lie sorted.
std::size_t row_part::scan(std::uint32_t version_buffer, const row_request& request,
                           std::span<std::byte> into) const {
  const auto write_page = [&](const auto& all, const auto& id_of) {
    const auto is_before = [&](std::uint64_t after, const auto& row) {
      return after < id_of(row);
    };
    const auto begin = request.after
                           ? std::upper_bound(all.begin(), all.end(), *request.after, is_before)
                           : all.begin();
    const auto rows = static_cast<std::uint32_t>(
        std::min<std::size_t>(static_cast<std::size_t>(all.end() - begin), request.rows_max));
    const auto bytes = row_batch_bytes(rows, dim());
    TIDEGATE_ASSERT(bytes <= into.size(), "room for the answer");
    const auto room = begin_row_batch(into.first(bytes), rows, dim());
    std::transform(begin, begin + rows, room.ids.begin(), id_of);
    gather(version_buffer, room.ids, room.values);
    return bytes;
  };
  if (versions_.is_current(version_buffer))
    return write_page(sorted_rows(), [](const sorted_row& row) { return row.id; });
  return write_page(ids_of(version_buffer), [](std::uint64_t id) { return id; });
}

row_image row_part::image(std::uint32_t current, std::span<const std::uint32_t> kept) const {
  TIDEGATE_ASSERT(versions_.is_current(current), "an image is of the current version");
  row_image image;
  image.dim = dim();
  image.state_floats = state_floats();
  visit_uses([&](std::uint64_t id, const row_use& use) {
    image.ids.push_back(id);
    image.uses.push_back(use);
  });
  image.values.resize(rows() * dim());
  image.states.resize(rows() * state_floats());
  visit_rows([&](std::size_t i, const row_values& row) {
    std::copy(row.values.begin(), row.values.end(), image.values.data() + i * dim());
    std::copy(row.state.begin(), row.state.end(), image.states.data() + i * state_floats());
  });
  image.clock = is_planted(planted_bug::row_clock_not_handed_over) ? 0 : clock_;
  if (!is_planted(planted_bug::row_candidates_not_handed_over))
    copy_candidates(image.candidates, image.candidate_uses);
  if (is_planted(planted_bug::row_state_not_handed_over))
    std::fill(image.states.begin(), image.states.end(), 0.0F);
  image.kept = versions_.copy(kept);
  return image;
}

status row_part::restore(const row_image& image, std::uint32_t current,
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
  return table_.put(image.ids, image.values, image.states, image.uses);
}

}  // namespace tidegate::runtime
