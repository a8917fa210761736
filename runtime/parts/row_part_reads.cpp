// What is read of a part: answers, checkpoints, images.
#include <algorithm>
#include <iterator>
#include <numeric>
#include <random>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/parts/row_lease.hpp"
#include "runtime/parts/row_part.hpp"

namespace tidegate::runtime {

std::uint64_t row_part::answer_bytes(const row_request& request) const {
  const auto ids = request.ids.size();
  if (request.kind == row_request_kind::gather) return gather_answer_bytes(ids, dim());
  if (request.kind == row_request_kind::changes) return row_changes_bytes(ids, ids, dim());
  if (request.kind == row_request_kind::call) return call_answer_bytes;
  return row_batch_bytes(request.rows_max, dim());
}

std::size_t row_part::answer(std::uint32_t version_buffer, const row_request& request,
                             std::span<std::byte> into, const row_memory_owner& owner) const {
  if (request.kind == row_request_kind::scan) return scan(version_buffer, request, into, owner);
  if (request.kind == row_request_kind::changes)
    return changes(version_buffer, request, into, owner);
  TIDEGATE_ASSERT(request.kind == row_request_kind::gather, "a function is run elsewhere");
  TIDEGATE_ASSERT(into.size() == answer_bytes(request), "room for the answer");
  if (may_lease(version_buffer, request)) {
    table_.expect_reads(request.ids);
    encode({.place = table_.place(), .version = table_.view().version()},
           into.first(row_lease_bytes));
    return row_lease_bytes;
  }
  const auto floats = request.ids.size() * dim();
  auto* values = reinterpret_cast<float*>(into.data());
  gather(version_buffer, request.ids, {values, floats}, owner);
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
                              std::span<std::byte> into, const row_memory_owner& owner) const {
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
  gather(version_buffer, changed_ids_, room.values, owner);
  return bytes;
}

// A reader is told of values and leases by their sizes.
bool row_part::may_lease(std::uint32_t version_buffer, const row_request& request) const {
  return request.may_lease && table_.engine() == nullptr &&
         answer_bytes(request) > row_lease_bytes &&
         (versions_.is_current(version_buffer) ||
          is_planted(planted_bug::row_lease_of_another_version));
}

void row_part::gather(std::uint32_t version_buffer, std::span<const std::uint64_t> ids,
                      std::span<float> out, const row_memory_owner& owner) const {
  if (table_.engine() != nullptr) return gather_from_engine(version_buffer, ids, out, owner);
  table_.gather(ids, out);
  versions_.visit(version_buffer, [&](const row_versions::step_change& change) {
    const auto& rows = change.rows;
    auto at = rows.ids.begin();
    for (std::size_t i = 0; i < ids.size() && at != rows.ids.end(); ++i) {
      at = std::lower_bound(at, rows.ids.end(), ids[i]);
      if (at == rows.ids.end() || *at != ids[i]) continue;
      const auto row = static_cast<std::size_t>(at - rows.ids.begin());
      std::copy_n(rows.values.data() + row * dim(), dim(), out.data() + i * dim());
    }
  });
}

// As gather(), by the places where the engine finds the values.
void row_part::gather_from_engine(std::uint32_t version_buffer,
                                  std::span<const std::uint64_t> ids, std::span<float> out,
                                  const row_memory_owner& owner) const {
  read_rows_.resize(ids.size());
  table_.view().index().find(ids, read_rows_);
  sources_.assign(ids.size(), {});
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (read_rows_[i] == no_row)
      write_initial(table_.initial(), ids[i], out.subspan(i * dim(), dim()));
    else
      sources_[i] = {.from = row_source::place::row, .number = read_rows_[i]};
  }
  versions_.visit(version_buffer, [&](const row_versions::step_change& change) {
    const auto& noted = change.rows.ids;
    auto at = noted.begin();
    for (std::size_t i = 0; i < ids.size() && at != noted.end(); ++i) {
      at = std::lower_bound(at, noted.end(), ids[i]);
      if (at == noted.end() || *at != ids[i]) continue;
      sources_[i] = {.from = row_source::place::note,
                     .list = change.list,
                     .number = change.notes[static_cast<std::size_t>(at - noted.begin())]};
    }
  });
  table_.engine()->read(sources_, out.data(), owner);
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
  versions_.visit(version_buffer, [&](const row_versions::step_change& change) {
    const auto& rows = change.rows;
    std::vector<std::uint64_t> were;
    for (std::size_t i = 0; i < rows.ids.size(); ++i)
      if (rows.existed[i] != 0) were.push_back(rows.ids[i]);
    if (is_planted(planted_bug::row_erased_since_is_not_there))
      std::erase_if(were,
                    [&](std::uint64_t id) { return !std::ranges::binary_search(ids, id); });
    std::vector<std::uint64_t> others;
    if (is_planted(planted_bug::row_made_since_is_there)) std::swap(others, ids);
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
                           std::span<std::byte> into, const row_memory_owner& owner) const {
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
    gather(version_buffer, room.ids, room.values, owner);
    return bytes;
  };
  if (versions_.is_current(version_buffer))
    return write_page(sorted_rows(), [](const sorted_row& row) { return row.id; });
  return write_page(ids_of(version_buffer), [](std::uint64_t id) { return id; });
}

std::span<const row_number> row_part::rows_since(std::uint64_t clock) const {
  const auto& slabs = table_.view().slabs();
  read_rows_.clear();
  for (const auto& row : sorted_rows())
    if (slabs.use(row.number).clock >= clock) read_rows_.push_back(row.number);
  return read_rows_;
}

namespace {

// Copies values or states of rows, ascending by id, that were pushed at this clock or later.
template <class FloatsOf>
void copy_rows_since(const row_part& part, std::uint64_t since, std::span<float> to,
                     const FloatsOf& floats_of) {
  const auto copy = [&](const row_part::row_values& row, std::size_t place) {
    const auto from = floats_of(row);
    TIDEGATE_ASSERT((place + 1) * from.size() <= to.size(), "rows as they were described");
    std::copy(from.begin(), from.end(), to.data() + place * from.size());
  };
  if (!part.table().lies_in_file()) {
    std::size_t place = 0;
    part.visit_rows([&](std::size_t, const row_part::row_values& row) {
      if (row.use.clock >= since) copy(row, place++);
    });
    return;
  }
  // Where each row goes, as rows come in the order in which they lie.
  std::vector<std::size_t> places;
  places.reserve(part.rows());
  std::size_t count = 0;
  part.visit_uses([&](std::uint64_t, const row_use& use) {
    places.push_back(count);
    count += use.clock >= since ? 1 : 0;
  });
  part.visit_rows([&](std::size_t at, const row_part::row_values& row) {
    if (row.use.clock >= since) copy(row, places[at]);
  });
}

}  // namespace

void row_part::copy_values(std::uint64_t since, std::span<float> to,
                           const row_memory_owner& owner) const {
  if (table_.engine() == nullptr)
    return copy_rows_since(*this, since, to, [](const row_values& row) { return row.values; });
  sources_.clear();
  for (const auto row : rows_since(since))
    sources_.push_back({.from = row_source::place::row, .number = row});
  TIDEGATE_ASSERT(to.size() == sources_.size() * dim(), "rows as they were described");
  table_.engine()->read(sources_, to.data(), owner);
}

void row_part::copy_states(std::uint64_t since, std::span<float> to,
                           const row_memory_owner& owner) const {
  if (table_.engine() == nullptr)
    return copy_rows_since(*this, since, to, [](const row_values& row) { return row.state; });
  const auto rows = rows_since(since);
  TIDEGATE_ASSERT(to.size() == rows.size() * state_floats(), "rows as they were described");
  table_.engine()->read_states(rows, to.data(), owner);
}

void row_part::read_image(std::span<const std::uint32_t> kept, const image_floats& into,
                          const row_memory_owner& owner) const {
  if (table_.engine() == nullptr) return;
  copy_values(0, into.values, owner);
  if (!is_planted(planted_bug::row_state_not_handed_over)) copy_states(0, into.states, owner);
  const auto changes = versions_.kept(kept);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (changes[i] == nullptr) continue;
    sources_.clear();
    for (const auto note : changes[i]->notes)
      sources_.push_back(
          {.from = row_source::place::note, .list = changes[i]->list, .number = note});
    table_.engine()->read(sources_, into.kept[i].data(), owner);
  }
}

void row_part::fill_floats(row_image& image) const {
  if (table_.engine() != nullptr) return;
  visit_rows([&](std::size_t i, const row_values& row) {
    std::copy(row.values.begin(), row.values.end(), image.values.data() + i * dim());
    std::copy(row.state.begin(), row.state.end(), image.states.data() + i * state_floats());
  });
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
  fill_floats(image);
  image.clock = is_planted(planted_bug::row_clock_not_handed_over) ? 0 : clock_;
  if (!is_planted(planted_bug::row_candidates_not_handed_over))
    copy_candidates(image.candidates, image.candidate_uses);
  if (is_planted(planted_bug::row_state_not_handed_over))
    std::fill(image.states.begin(), image.states.end(), 0.0F);
  for (const auto* change : versions_.kept(kept)) {
    auto& delta = image.kept.emplace_back();
    if (change == nullptr) continue;
    delta = change->rows;
    delta.values.resize(delta.ids.size() * dim());
  }
  return image;
}

}  // namespace tidegate::runtime
