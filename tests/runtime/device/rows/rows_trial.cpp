#include "tests/runtime/device/rows/rows_trial.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/base/planted.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/device/emulated/emulated_device.hpp"
#include "runtime/device/rows/device_rows.hpp"
#include "runtime/kernels/row_step.hpp"
#include "runtime/optimizers/registry.hpp"
#include "tests/runtime/device/updates/patience.hpp"

namespace tidegate::tests {

using namespace runtime;           // NOLINT
using namespace runtime::devices;  // NOLINT

namespace {

using floats = std::vector<float>;

constexpr float no_number = std::numeric_limits<float>::quiet_NaN();
constexpr std::size_t page = 4096;
constexpr std::uint32_t note_lists = 2;

// A table of rows, as plain arrays say what it is.
class rows_trial {
 public:
  rows_trial(device& on, std::uint64_t seed)
      : random_(seed), device_(on), room_(device_, draw_room()) {
    draw_segments();
  }

  rows_report run() {
    auto queue =
        row_queue::make(device_, {.operations_max = 3,
                                  .slots = static_cast<std::uint32_t>(1 + random_.below(3)),
                                  .slot_bytes = std::size_t{128} << 10});
    if (!queue) return {.problem = queue.error().message()};
    queue_ = std::move(*queue);
    lent_ = std::make_unique<host_memory>(*device_.allocate_host(lent_bytes));
    auto rows = std::make_unique<device_rows>(*queue_, room_, shape_);
    rows_ = rows.get();
    for (int i = 0; i < 60 && report_.problem.empty(); ++i) call();
    settle();
    check_all();
    settle();
    report_.rows_moved = room_.rows_moved();
    rows.reset();  // while nothing or something is under way
    lent_.reset();
    queue_.reset();
    return report_;
  }

 private:
  static constexpr std::size_t lent_bytes = 64 * page;
  static constexpr std::size_t rows_max = 900;

  // Something that is under way: what is to be seen, and what must stay until then.
  struct expectation {
    ticket of = 0;
    std::unique_ptr<floats> got;  // read, on the host
    float* lent = nullptr;        // read, in lent memory
    floats expected;
    std::size_t lent_first = 0;  // of a gradient, or a read, in lent memory
    std::size_t lent_floats = 0;
  };

  std::uint64_t draw_room() {
    return random_.below(2) == 0 ? 0 : (random_.below(200) + 1) << 10U;
  }

  void draw_segments() {
    std::vector<optimizer_kind> kinds;
    for (const auto& traits : optimizers_known)
      if (traits.steps_rows) kinds.push_back(traits.kind);
    const auto count = 1 + random_.below(3);
    for (std::uint64_t i = 0; i < count; ++i) {
      auto options = traits_of(kinds[random_.below(kinds.size())]).defaults;
      options.learning_rate = 0.1F;
      const auto columns = static_cast<std::uint32_t>(1 + random_.below(40));
      options_.push_back(options);
      columns_.push_back(
          {.first = shape_.dim, .columns = columns, .state = shape_.state_floats});
      shape_.dim += columns;
      shape_.state_floats += state_floats(options, columns);
    }
  }

  float draw() { return static_cast<float>(random_.below(2001)) / 1000.0F - 1.0F; }
  floats draw_floats(std::size_t count) {
    floats drawn(count);
    for (auto& value : drawn) value = draw();
    return drawn;
  }
  // Different rows, ascending.
  std::vector<row_number> draw_rows(std::size_t most) {
    std::vector<row_number> rows;
    const auto count = values_.size() / shape_.dim;
    for (row_number row = 0; row < count && rows.size() < most; ++row)
      if (random_.below(3) == 0) rows.push_back(row);
    return rows;
  }

  // Floats of lent memory that nothing under way reads or writes; none if there are too few.
  float* take_lent(std::size_t count, expectation& by) {
    auto* const all = reinterpret_cast<float*>(lent_->bytes().data());
    const auto room = lent_bytes / sizeof(float);
    std::size_t first = random_.below(64);
    for (const auto& item : pending_)
      if (item.lent_floats > 0)
        first = std::max(first, item.lent_first + item.lent_floats + random_.below(8));
    if (first + count > room) return nullptr;
    by.lent_first = first;
    by.lent_floats = count;
    return all + first;
  }

  void call() {
    switch (random_.below(8)) {
      case 0:
        return add_rows();
      case 1:
        return put_rows();
      case 2:
      case 3:
      case 4:
        return step_rows();
      case 5:
        return read_rows();
      case 6:
        return read_states();
      default:
        poll();
    }
  }

  void add_rows() {
    const auto before = values_.size() / shape_.dim;
    const auto count = std::min<std::size_t>(random_.below(150) + 1, rows_max - before);
    if (!rows_->reserve(before + count).ok()) {
      report_.problem = "no room";
      return;
    }
    std::vector<row_number> rows(count);
    std::iota(rows.begin(), rows.end(), static_cast<row_number>(before));
    const auto first = draw_floats(count * shape_.dim);
    rows_->begin(rows, first);
    values_.insert(values_.end(), first.begin(), first.end());
    states_.resize(states_.size() + count * shape_.state_floats);
  }

  void put_rows() {
    const auto rows = draw_rows(20);
    const auto kept = std::make_shared<std::pair<floats, floats>>(
        draw_floats(rows.size() * shape_.dim), floats(rows.size() * shape_.state_floats, 0.5F));
    const auto& [values, states] = *kept;
    rows_->put(rows, values, states, {.object = kept});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::copy_n(&values[i * shape_.dim], shape_.dim, &values_[rows[i] * shape_.dim]);
      std::copy_n(states.data() + i * shape_.state_floats, shape_.state_floats,
                  states_.data() + rows[i] * shape_.state_floats);
    }
  }

  void step_rows() {
    const auto rows = draw_rows(400);
    if (rows.empty()) return;
    rows_->prepare_step(rows);
    note(rows);
    std::vector<row_engine::segment> segments;
    const row_step options{.clock = ++clock_, .scale = 0.5F};
    for (std::size_t i = 0; i < options_.size(); ++i)
      segments.push_back(
          {coefficients_of(options_[i], options, columns_[i].columns), columns_[i]});
    expectation gradient;
    auto drawn = draw_floats(rows.size() * shape_.dim);
    auto* const lent = random_.below(2) == 0 ? take_lent(drawn.size(), gradient) : nullptr;
    if (lent != nullptr) std::copy(drawn.begin(), drawn.end(), lent);
    std::vector<const float*> places;
    for (std::size_t i = 0; i < rows.size(); ++i)
      places.push_back((lent != nullptr ? lent : drawn.data()) + i * shape_.dim);
    rows_->step(segments, rows, places);
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (const auto& segment : segments)
        step_row(
            segment.step,
            {&drawn[i * shape_.dim + segment.columns.first], segment.columns.columns},
            {&values_[rows[i] * shape_.dim + segment.columns.first], segment.columns.columns},
            {states_.data() + rows[i] * shape_.state_floats + segment.columns.state,
             state_floats({.kind = segment.step.kind}, segment.columns.columns)});
    ++report_.steps;
    std::fill(drawn.begin(), drawn.end(), no_number);  // it was copied, or is not read there
    if (lent == nullptr) return;
    if (is_planted(planted_bug::row_gradient_not_kept)) {
      std::fill_n(lent, gradient.lent_floats, no_number);
      return;
    }
    gradient.of = queue_->submitted();
    pending_.push_back(std::move(gradient));
  }

  void note(const std::vector<row_number>& rows) {
    const auto list = static_cast<std::uint32_t>(random_.below(note_lists));
    const auto first = static_cast<std::uint32_t>(random_.below(100));
    if (!rows_->reserve_notes(list, first + rows.size()).ok()) report_.problem = "no notes";
    rows_->note({.list = list, .first = first}, rows);
    for (std::size_t i = 0; i < rows.size(); ++i)
      notes_[{list, first + i}] = {&values_[rows[i] * shape_.dim],
                                   &values_[rows[i] * shape_.dim] + shape_.dim};
  }

  void read_rows() {
    if (values_.empty()) return;
    std::vector<row_source> from;
    expectation read;
    const auto count = random_.below(300) + 1;
    for (std::uint64_t i = 0; i < count; ++i) {
      const floats before(shape_.dim, -7);
      switch (random_.below(3)) {
        case 0: {
          const auto row = static_cast<row_number>(random_.below(values_.size() / shape_.dim));
          from.push_back({.from = row_source::place::row, .number = row});
          read.expected.insert(read.expected.end(), &values_[row * shape_.dim],
                               &values_[row * shape_.dim] + shape_.dim);
          break;
        }
        case 1: {
          if (!notes_.empty()) {
            auto note = notes_.begin();
            std::advance(note, random_.below(notes_.size()));
            from.push_back({.from = row_source::place::note,
                            .list = note->first.first,
                            .number = static_cast<row_number>(note->first.second)});
            read.expected.insert(read.expected.end(), note->second.begin(), note->second.end());
            break;
          }
          [[fallthrough]];
        }
        default:
          from.push_back({});
          read.expected.insert(read.expected.end(), before.begin(), before.end());
      }
    }
    read.lent = random_.below(2) == 0 ? take_lent(read.expected.size(), read) : nullptr;
    if (read.lent == nullptr) read.got = std::make_unique<floats>(read.expected.size());
    auto* const out = read.lent != nullptr ? read.lent : read.got->data();
    std::fill_n(out, read.expected.size(), -7.0F);
    rows_->read(from, out, {});
    expect(std::move(read));
  }

  void read_states() {
    const auto rows = draw_rows(300);
    if (rows.empty() || shape_.state_floats == 0) return;
    expectation read;
    for (const auto row : rows)
      read.expected.insert(read.expected.end(), states_.data() + row * shape_.state_floats,
                           states_.data() + (row + 1) * shape_.state_floats);
    read.got = std::make_unique<floats>(read.expected.size());
    rows_->read_states(rows, read.got->data(), {});
    expect(std::move(read));
  }

  void expect(expectation read) {
    read.of = queue_->submitted();
    pending_.push_back(std::move(read));
    ++report_.reads;
  }

  void poll() {
    const auto polls = random_.below(40);
    for (std::uint64_t i = 0; i < polls; ++i) queue_->poll();
    if (!queue_->failure().ok()) report_.problem = queue_->failure().message();
    take_ended();
  }

  void settle() {
    while (report_.problem.empty() && !queue_->is_idle()) {
      queue_->poll();
      if (!queue_->failure().ok()) report_.problem = queue_->failure().message();
      if (patience_.is_over()) report_.problem = "nothing ends any more";
    }
    take_ended();
  }

  // What was lent and is no longer read is overwritten.
  void take_ended() {
    while (!pending_.empty() && pending_.front().of <= queue_->done()) {
      const auto item = std::move(pending_.front());
      pending_.erase(pending_.begin());
      if (!item.expected.empty()) {
        const auto* const got = item.lent != nullptr ? item.lent : item.got->data();
        if (std::memcmp(got, item.expected.data(), item.expected.size() * sizeof(float)) != 0)
          report_.problem = "read " + std::to_string(item.of) + " is not what it should be";
      }
      if (item.lent_floats > 0)
        std::fill_n(reinterpret_cast<float*>(lent_->bytes().data()) + item.lent_first,
                    item.lent_floats, no_number);
    }
  }

  void check_all() {
    expectation all;
    all.expected = values_;
    if (values_.empty()) return;
    all.got = std::make_unique<floats>(values_.size());
    std::vector<row_source> from;
    for (row_number row = 0; row < values_.size() / shape_.dim; ++row)
      from.push_back({.from = row_source::place::row, .number = row});
    rows_->read(from, all.got->data(), {});
    expect(std::move(all));
  }

  rng random_;
  device& device_;
  row_room room_;
  row_shape shape_;
  std::vector<optimizer_options> options_;
  std::vector<kernels::row_columns> columns_;
  std::unique_ptr<row_queue> queue_;
  std::unique_ptr<host_memory> lent_;
  device_rows* rows_ = nullptr;
  floats values_, states_;
  std::map<std::pair<std::uint32_t, std::size_t>, floats> notes_;
  std::vector<expectation> pending_;
  std::uint64_t clock_ = 0;
  patience patience_;
  rows_report report_;
};

}  // namespace

emulated_options paced_device(std::uint64_t seed) {
  emulated_options options;
  options.seed = seed;
  options.paced_by = emulated_options::pace::caller;
  return options;
}

rows_report try_rows(device& on, std::uint64_t seed) {
  return rows_trial(on, seed).run();
}

rows_report try_rows_on_device(std::uint64_t seed) {
  emulated_device on(paced_device(seed));
  return try_rows(on, seed);
}

}  // namespace tidegate::tests
