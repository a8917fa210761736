#include "runtime/rows/row_table.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/optimizers/row_check.hpp"
#include "runtime/rows/row_steps.hpp"

namespace tidegate::runtime {

namespace {

// Ids that are looked up before pages for their rows are made, so that a batch of any size is
// made in pages that are there.
constexpr std::size_t make_block = 4096;

// All columns are a segment where none is given.
std::vector<row_segment> segments_of(const row_table_options& options) {
  if (!options.segments.empty()) return options.segments;
  return {{.columns = options.dim,
           .optimizer = options.optimizer,
           .initial = options.initial,
           .initial_scale = options.initial_scale}};
}

// Rows whose segments are stepped one after the other.
constexpr std::size_t rows_of_segments = 256;

// The lead of an array that grows as another does.
double opposite(double lead) noexcept {
  return lead < 0.5 ? lead + 0.5 : lead - 0.5;
}

// Readers see an odd version while it lives.
class change {
 public:
  explicit change(std::byte* memory)
      : version_(&reinterpret_cast<row_header*>(memory)->version), before_(*version_) {
    __atomic_store_n(version_, before_ + 1, __ATOMIC_RELAXED);
    std::atomic_thread_fence(std::memory_order_release);
  }
  ~change() { __atomic_store_n(version_, before_ + 2, __ATOMIC_RELEASE); }
  change(const change&) = delete;
  change& operator=(const change&) = delete;

 private:
  std::uint64_t* version_;
  std::uint64_t before_;
};

}  // namespace

expected<row_table> row_table::create(const row_table_options& options) {
  if (options.segments.size() > limits::row_segments_max)
    return fail(errc::invalid_argument,
                "table " + options.name + ": " + std::to_string(options.segments.size()) +
                    " segments; allowed: 0 to " + std::to_string(limits::row_segments_max));
  std::uint64_t columns = 0;
  for (const auto& segment : segments_of(options)) {
    if (segment.columns == 0)
      return fail(errc::invalid_argument,
                  "table " + options.name + ": a segment or a row without columns");
    if (auto good = check_row_optimizer(segment.optimizer); !good.ok()) return fail(good);
    if (!is_valid({.kind = segment.initial, .scale = segment.initial_scale}))
      return fail(errc::invalid_argument, "initial values of table " + options.name + ": " +
                                              std::to_string(segment.initial_scale) +
                                              "; allowed: a number, 0 and more");
    columns += segment.columns;
  }
  if (columns != options.dim)
    return fail(errc::invalid_argument,
                "segments of table " + options.name + " have " + std::to_string(columns) +
                    " columns; allowed: " + std::to_string(options.dim) + ", as its rows have");
  TIDEGATE_ASSERT(!options.memory || options.engines == nullptr, "rows lie in one place");
  const auto where = options.memory               ? rows_lie_in::file
                     : options.engines != nullptr ? rows_lie_in::engine
                                                  : rows_lie_in::memory;
  const auto layout = row_layout_for(
      {.capacity = options.capacity, .dim = options.dim, .state_floats = state_floats(options)},
      where);
  if (!layout) return fail(layout.error());
  auto memory = segment::create("rows", layout->bytes);
  if (!memory) return fail(memory.error());
  if (where == rows_lie_in::engine) {
    auto engine = options.engines->make(layout->shape);
    if (!engine) return fail(engine.error());
    return row_table(std::move(*memory), nullptr, std::move(*engine), *layout, options);
  }
  if (!options.memory) return row_table(std::move(*memory), nullptr, nullptr, *layout, options);
  auto file = row_file::create(options.memory, memory->data(), *layout);
  if (!file)
    return fail(file.error().code(), "table " + options.name + ": " + file.error().message());
  reinterpret_cast<row_header*>(memory->data())->file = (*file)->name();
  return row_table(std::move(*memory), std::move(*file), nullptr, *layout, options);
}

row_table::row_table(segment memory, std::unique_ptr<row_file> file,
                     std::unique_ptr<row_engine> engine, const row_layout& layout,
                     const row_table_options& options)
    : memory_(std::make_shared<segment>(std::move(memory))),
      file_(std::move(file)),
      engine_(std::move(engine)),
      name_(options.name),
      layout_(layout),
      segments_(place_segments(options)),
      initial_(initial_of(options)),
      index_(memory_->data() + layout.index_begin, layout.index, options.seed),
      slabs_(memory_->data(), layout),
      bucket_pages_(layout.index_begin + layout.index.buckets,
                    layout.index_begin + layout.index.bytes, options.page_lead),
      value_pages_(layout.values, layout.states, options.page_lead),
      state_pages_(layout.states, layout.ids, opposite(options.page_lead)),
      id_pages_(layout.ids, layout.uses, options.page_lead),
      use_pages_(layout.uses, layout.bytes, opposite(options.page_lead)) {}

std::vector<row_table::placed_segment> row_table::place_segments(
    const row_table_options& options) {
  std::vector<placed_segment> placed;
  std::size_t column = 0, state = 0;
  for (const auto& segment : segments_of(options)) {
    placed.push_back({.options = segment, .column = column, .state = state});
    column += segment.columns;
    state += runtime::state_floats(segment.optimizer, segment.columns);
  }
  return placed;
}

initial_row row_table::initial_of(const row_table_options& options) {
  initial_row initial;
  initial.key = initial_key(options.seed, options.name);
  const auto placed = place_segments(options);
  for (std::size_t i = 0; i < placed.size(); ++i)
    initial.segments[i] = {.columns = placed[i].options.columns,
                           .kind = placed[i].options.initial,
                           .scale = placed[i].options.initial_scale};
  return initial;
}

std::uint32_t row_table::state_floats(const row_table_options& options) {
  const auto last = place_segments(options).back();
  return static_cast<std::uint32_t>(last.state) +
         runtime::state_floats(last.options.optimizer, last.options.columns);
}

row_view row_table::view() const noexcept {
  return {memory_->data(), layout_, initial_};
}

row_place row_table::place() const noexcept {
  return {.segment = memory_->name(), .shape = layout_.shape, .initial = initial_};
}

// A bucket splits for some 2,200 ids, or sooner where many are about to.
void row_table::prepare_index(std::uint64_t ids) {
  const auto buckets = index_.view().buckets_used() + 2 + ids / 512;
  reach(bucket_pages_,
        layout_.index_begin + layout_.index.buckets + buckets * sizeof(rows::bucket));
}

status row_table::prepare_rows(std::uint64_t rows) {
  if (file_) {
    if (auto reserved = file_->reserve(rows); !reserved.ok()) return reserved;
  } else if (engine_) {
    if (auto reserved = engine_->reserve(rows); !reserved.ok()) return no_room(reserved);
  } else {
    reach(value_pages_, layout_.values + rows * layout_.value_stride * sizeof(float));
    reach(state_pages_, layout_.states + rows * layout_.state_stride * sizeof(float));
  }
  reach(id_pages_, layout_.ids + rows * sizeof(std::uint64_t));
  reach(use_pages_, layout_.uses + rows * sizeof(row_use));
  return {};
}

void row_table::prepare(std::uint64_t rows) {
  prepare_index(rows);
  // Rows that find no space on a disk fail when they are made.
  static_cast<void>(
      prepare_rows(std::min(index_.view().numbers_used() + rows, layout_.shape.capacity)));
}

void row_table::write_new(std::span<const std::uint64_t> ids, std::span<const row_number> rows,
                          std::span<const std::uint8_t> added) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (added[i] == 0) continue;
    const bool by_order = is_planted(planted_bug::row_first_values_by_order);
    write_initial(initial_, by_order ? rows[i] : ids[i],
                  {slabs_.values(rows[i]), layout_.shape.dim});
    std::fill_n(slabs_.state(rows[i]), layout_.shape.state_floats, 0.0F);
    slabs_.id(rows[i]) = ids[i];
    slabs_.use(rows[i]) = {};
  }
}

void row_table::begin_new(std::span<const std::uint64_t> ids, std::span<const row_number> rows,
                          std::span<const std::uint8_t> added) {
  if (engine_ != nullptr) return write_new_with_engine(ids, rows, added);
  if (file_ == nullptr) return write_new(ids, rows, added);
  reads_.assign(rows.begin(), rows.end());
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (added[i] == 0) reads_[i] = no_row;
  in_blocks(reads_, row_file::access::writes, [&](std::size_t first, std::size_t count) {
    write_new(ids.subspan(first, count), rows.subspan(first, count),
              added.subspan(first, count));
  });
}

expected<std::size_t> row_table::make_rows(std::span<const std::uint64_t> ids,
                                           std::span<row_number> rows, beginning from) {
  if (added_.size() < ids.size()) added_.resize(ids.size());
  const auto added = std::span(added_).first(ids.size());
  std::size_t count = 0;
  for (std::size_t begin = 0; begin < ids.size(); begin += make_block) {
    const auto n = std::min(make_block, ids.size() - begin);
    const auto some = ids.subspan(begin, n);
    prepare_index(n);
    const auto added_now =
        index_.find_or_add(some, rows.subspan(begin, n), added.subspan(begin, n));
    if (!added_now) {
      index_.take_back(ids.first(begin), added.first(begin));
      return fail(added_now.error().code(),
                  "table " + name_ + ": no room for the new rows of a batch of " +
                      std::to_string(ids.size()) + "; " + std::to_string(size()) + " of " +
                      std::to_string(layout_.shape.capacity) +
                      " are used. Reserve more, or erase rows that are not needed");
    }
    if (*added_now == 0) continue;
    if (auto prepared = prepare_rows(index_.view().numbers_used()); !prepared.ok()) {
      index_.take_back(ids.first(begin + n), added.first(begin + n));
      return fail(prepared);
    }
    count += *added_now;
    if (from == beginning::initial)
      begin_new(some, rows.subspan(begin, n), added.subspan(begin, n));
  }
  return count;
}

expected<std::size_t> row_table::find_or_create(std::span<const std::uint64_t> ids,
                                                std::span<row_number> rows) {
  TIDEGATE_ASSERT(rows.size() == ids.size(), "a row for each id");
  const change changed(memory_->data());
  return make_rows(ids, rows, beginning::initial);
}

status row_table::update(const row_step& step, std::span<const std::uint64_t> ids,
                         std::span<const float* const> gradients, const before_step& before) {
  TIDEGATE_ASSERT(gradients.size() == ids.size(), "a gradient for each row");
  TIDEGATE_ASSERT(
      before.values.empty() || before.values.size() == ids.size() * layout_.shape.dim,
      "a place for each value");
  const change changed(memory_->data());
  if (engine_ && before.notes) {
    const auto notes = before.notes->first + ids.size();
    if (auto reserved = engine_->reserve_notes(before.notes->list, notes); !reserved.ok())
      return no_room(reserved);
  }
  if (rows_.size() < ids.size()) rows_.resize(ids.size());
  const auto rows = std::span(rows_).first(ids.size());
  if (const auto count = make_rows(ids, rows, beginning::initial); !count) return count.error();
  coefficients_.clear();
  for (const auto& segment : segments_)
    coefficients_.push_back(
        coefficients_of(segment.options.optimizer, step, segment.options.columns));
  const auto clock = std::max(step.clock, step.latest);
  if (engine_) {
    std::copy_n(added_.begin(), before.is_new.size(), before.is_new.begin());
    step_with_engine(clock, rows, gradients, before);
    return {};
  }
  const std::size_t floats = layout_.shape.dim;
  in_blocks(rows, row_file::access::writes, [&](std::size_t first, std::size_t count) {
    step_block(clock, rows.subspan(first, count), gradients.subspan(first, count),
               before.values.empty() ? before.values
                                     : before.values.subspan(first * floats, count * floats));
  });
  std::copy_n(added_.begin(), before.is_new.size(), before.is_new.begin());
  return file_ ? file_->failure() : status();
}

// All segments of some rows, and then of the next: they lie side by side.
void row_table::step_block(std::uint64_t clock, std::span<const row_number> rows,
                           std::span<const float* const> gradients, std::span<float> before) {
  if (segments_.size() == 1) return step_rows(clock, rows, gradients, before);
  const std::size_t floats = layout_.shape.dim;
  for (std::size_t begin = 0; begin < rows.size(); begin += rows_of_segments) {
    const auto count = std::min(rows_of_segments, rows.size() - begin);
    step_rows(clock, rows.subspan(begin, count), gradients.subspan(begin, count),
              before.empty() ? before : before.subspan(begin * floats, count * floats));
  }
}

void row_table::step_rows(std::uint64_t clock, std::span<const row_number> rows,
                          std::span<const float* const> gradients, std::span<float> before) {
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const auto& segment = segments_[i];
    const bool is_last = i + 1 == segments_.size();
    rows::step_rows(coefficients_[i], clock,
                    {.values = slabs_.all_values() + segment.column,
                     .value_stride = layout_.value_stride,
                     .states = slabs_.all_states() + segment.state,
                     .state_stride = layout_.state_stride,
                     .uses = is_last ? slabs_.all_uses() : nullptr,
                     .dim = segment.options.columns,
                     .first = segment.column,
                     .before = before.empty() ? nullptr : before.data() + segment.column,
                     .before_stride = layout_.shape.dim},
                    rows, gradients.data());
  }
}

status row_table::update(const row_step& step, std::span<const std::uint64_t> ids,
                         std::span<const float> gradients) {
  const std::size_t dim = layout_.shape.dim;
  TIDEGATE_ASSERT(gradients.size() == ids.size() * dim, "a gradient for each value");
  gradients_.resize(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) gradients_[i] = gradients.data() + i * dim;
  return update(step, ids, gradients_, {});
}

status row_table::put(std::span<const std::uint64_t> ids, std::span<const float> values,
                      std::span<const float> states, std::span<const row_use> uses,
                      const row_memory_owner& owner) {
  const std::size_t dim = layout_.shape.dim;
  const std::size_t state_floats = layout_.shape.state_floats;
  TIDEGATE_ASSERT(values.size() == ids.size() * dim &&
                      states.size() == ids.size() * state_floats && uses.size() == ids.size(),
                  "all of each row");
  const change changed(memory_->data());
  if (rows_.size() < ids.size()) rows_.resize(ids.size());
  const auto rows = std::span(rows_).first(ids.size());
  if (const auto count = make_rows(ids, rows, beginning::of_caller); !count)
    return count.error();
  if (engine_) {
    engine_->put(rows, values, states, owner);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      slabs_.id(rows[i]) = ids[i];
      slabs_.use(rows[i]) = uses[i];
    }
    return {};
  }
  in_blocks(rows, row_file::access::writes, [&](std::size_t first, std::size_t count) {
    for (auto i = first; i < first + count; ++i) {
      std::copy_n(values.data() + i * dim, dim, slabs_.values(rows[i]));
      std::copy_n(states.data() + i * state_floats, state_floats, slabs_.state(rows[i]));
      slabs_.id(rows[i]) = ids[i];
      slabs_.use(rows[i]) = uses[i];
    }
  });
  return {};
}

void row_table::gather(std::span<const std::uint64_t> ids, std::span<float> out) const {
  TIDEGATE_ASSERT(engine_ == nullptr, "an engine is asked for its values");
  if (file_ == nullptr) return view().gather(ids, out);
  const std::size_t floats = layout_.shape.dim;
  const auto read = view();
  reads_.resize(ids.size());
  read.index().find(ids, reads_);
  in_blocks(reads_, row_file::access::reads, [&](std::size_t first, std::size_t count) {
    read.copy(ids.subspan(first, count), std::span(reads_).subspan(first, count),
              out.subspan(first * floats, count * floats));
  });
}

void row_table::expect_reads(std::span<const std::uint64_t> ids) const {
  if (file_ == nullptr) return;
  reads_.resize(ids.size());
  index_.view().find(ids, reads_);
  in_blocks(reads_, row_file::access::reads, [](std::size_t, std::size_t) {});
}

std::size_t row_table::erase(std::span<const std::uint64_t> ids) {
  const change changed(memory_->data());
  if (rows_.size() < ids.size()) rows_.resize(ids.size());
  const auto before = size();
  index_.erase(ids, std::span(rows_).first(ids.size()));
  return before - size();
}

}  // namespace tidegate::runtime
