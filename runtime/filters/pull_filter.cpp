#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "runtime/filters/filter_state.hpp"
#include "runtime/filters/held_rows.hpp"
#include <tidegate/filters.hpp>

namespace tidegate {

namespace {

using namespace runtime::filters;

constexpr auto pull_name = "pull_filter";
constexpr auto never_pulled = ~std::uint64_t{0};
constexpr std::uint64_t rest_most = 1ULL << 32;

bool is_as_it_was(std::span<const float> before, std::span<const float> now, float epsilon) {
  for (std::size_t i = 0; i < now.size(); ++i)
    if (!(std::abs(now[i] - before[i]) <= epsilon)) return false;
  return true;
}

bool has_bits(float value) {
  return std::bit_cast<std::uint32_t>(value) != 0;
}

}  // namespace

pull_filter::pull_filter(const pull_options& options)
    : options_(options), rows_(std::make_unique<held_rows>(options.dim)) {}
pull_filter::pull_filter(pull_filter&&) noexcept = default;
pull_filter& pull_filter::operator=(pull_filter&&) noexcept = default;
pull_filter::~pull_filter() = default;

expected<pull_filter> pull_filter::create(const pull_options& options) {
  for (const auto& checked :
       {check_number(pull_name, "dim", options.dim, runtime::limits::row_dim_max),
        check_size(pull_name, "epsilon", options.epsilon),
        check_number(pull_name, "rest", options.rest, rest_most),
        check_number(pull_name, "rows_max", options.rows_max, rows_most)})
    if (!checked) return fail(checked);
  if (options.initial && std::isnan(*options.initial))
    return fail(errc::invalid_argument, "pull_filter: initial NaN; allowed: a number");
  return pull_filter(options);
}

expected<std::span<const std::uint64_t>> pull_filter::wanted(
    std::uint64_t clock, std::span<const std::uint64_t> ids) {
  if (auto checked = check_call(pull_name, ids.size(), 0, "values", 0); !checked)
    return fail(checked);
  drop_unpulled();
  rows_->begin_call();
  std::uint64_t met = 0;
  for (const auto id : ids) {
    const auto [at, is_new] = rows_->insert(id);
    if (is_new) {
      due_.resize(rows_->places(), never_pulled);
      due_[at] = never_pulled;
    }
    if (!rows_->is_first(at)) continue;
    ++met;
    if (due_[at] == never_pulled || due_[at] <= clock) asked_.push_back(id);
    is_asked_ = true;
    if (rows_->size() > options_.rows_max) {
      drop_unpulled();
      return fail(errc::over_limit, "pull_filter: more than " +
                                        std::to_string(options_.rows_max) +
                                        " rows; allowed: rows_max, which may be larger");
    }
  }
  is_asked_ = true;
  clock_ = clock;
  seen_ += met;
  kept_ += asked_.size();
  return asked_;
}

// Ends a call of wanted() whose values have not come.
void pull_filter::drop_unpulled() noexcept {
  if (is_asked_)
    for (const auto id : asked_)
      if (const auto at = rows_->find(id); at != held_rows::nowhere && due_[at] == never_pulled)
        rows_->erase(at);
  asked_.clear();
  is_asked_ = false;
}

status pull_filter::store(std::span<const float> values) {
  if (!is_asked_)
    return {errc::out_of_order,
            "pull_filter: values without a pull; allowed: once after wanted()"};
  const auto dim = options_.dim;
  if (auto checked = check_call(pull_name, asked_.size(), dim, "values", values.size());
      !checked)
    return checked;
  const auto until = std::min(clock_, never_pulled - rest_most - 2) + options_.rest + 1;
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    const auto at = rows_->find(asked_[i]);
    const auto now = values.subspan(i * dim, dim);
    const auto before = rows_->values(at);
    const bool is_first = due_[at] == never_pulled;
    if (is_first && options_.initial) std::ranges::fill(before, *options_.initial);
    const bool rests =
        (!is_first || options_.initial) && is_as_it_was(before, now, options_.epsilon);
    due_[at] = rests ? until : 0;
    std::ranges::copy(now, before.begin());
  }
  asked_.clear();
  is_asked_ = false;
  return {};
}

status pull_filter::gather(std::span<const std::uint64_t> ids, std::span<float> out) const {
  const auto dim = options_.dim;
  if (auto checked = check_call(pull_name, ids.size(), dim, "values", out.size()); !checked)
    return checked;
  for (const auto id : ids)
    if (const auto at = rows_->find(id); at == held_rows::nowhere || due_[at] == never_pulled)
      return {errc::not_found, "pull_filter: row '" + std::to_string(id) +
                                   "' was never pulled; allowed: ids that store() has had"};
  for (std::size_t i = 0; i < ids.size(); ++i)
    std::ranges::copy(std::as_const(*rows_).values(rows_->find(ids[i])),
                      out.begin() + static_cast<std::ptrdiff_t>(i * dim));
  return {};
}

void pull_filter::pushed(std::span<const std::uint64_t> ids) noexcept {
  for (const auto id : ids)
    if (const auto at = rows_->find(id); at != held_rows::nowhere && due_[at] != never_pulled)
      due_[at] = 0;
}

std::uint64_t pull_filter::held() const noexcept {
  return rows_->size();
}

std::vector<std::byte> pull_filter::save() const {
  std::vector<held_rows::place> places;
  rows_->ascending(places);
  std::erase_if(places, [&](auto at) { return due_[at] == never_pulled; });
  state_writer state(filter_kind::pull, options_.dim);
  state.add(seen_);
  state.add(kept_);
  state.add(std::uint64_t{places.size()});
  for (const auto at : places) {
    const auto values = std::as_const(*rows_).values(at);
    const bool is_written = std::ranges::any_of(values, has_bits);
    state.add(rows_->id(at));
    state.add(due_[at]);
    state.add(std::uint8_t{is_written});
    if (is_written) state.add(values);
  }
  return state.take();
}

status pull_filter::restore(std::span<const std::byte> bytes) {
  state_reader state(bytes, filter_kind::pull, options_.dim);
  std::uint64_t seen = 0, kept = 0, count = 0;
  auto rows = std::make_unique<held_rows>(options_.dim);
  std::vector<std::uint64_t> due;
  bool is_good =
      state.read(seen) && state.read(kept) && state.read(count) && count <= options_.rows_max;
  for (std::uint64_t i = 0; is_good && i < count; ++i) {
    std::uint64_t id = 0, clock = 0;
    std::uint8_t is_written = 0;
    is_good = state.read(id) && state.read(clock) && state.read(is_written) &&
              clock != never_pulled && is_written <= 1;
    if (!is_good) break;
    const auto [at, is_new] = rows->insert(id);
    due.push_back(clock);
    is_good = is_new && (is_written == 0 || state.read(rows->values(at)));
  }
  if (!is_good || !state.is_done()) return refused_state(pull_name, options_.dim);
  rows_ = std::move(rows);
  due_ = std::move(due);
  asked_.clear();
  is_asked_ = false;
  seen_ = seen;
  kept_ = kept;
  return {};
}

}  // namespace tidegate
