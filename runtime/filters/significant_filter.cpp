#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/filters/filter_state.hpp"
#include "runtime/filters/held_rows.hpp"
#include <tidegate/filters.hpp>

namespace tidegate {

namespace {

using namespace runtime::filters;

constexpr auto significant_name = "significant_filter";

float largest_magnitude(std::span<const float> values) {
  float most = 0;
  for (const float value : values) most = std::max(most, std::abs(value));
  return most;
}

// A NaN, which is above nothing, makes a row significant.
bool is_significant(std::span<const float> sum, float bound) {
  return !std::ranges::all_of(sum, [&](float value) { return std::abs(value) <= bound; });
}

}  // namespace

significant_filter::significant_filter(const significant_options& options)
    : options_(options), rows_(std::make_unique<held_rows>(options.dim)) {}
significant_filter::significant_filter(significant_filter&&) noexcept = default;
significant_filter& significant_filter::operator=(significant_filter&&) noexcept = default;
significant_filter::~significant_filter() = default;

expected<significant_filter> significant_filter::create(const significant_options& options) {
  for (const auto& checked :
       {check_number(significant_name, "dim", options.dim, runtime::limits::row_dim_max),
        check_size(significant_name, "threshold", options.threshold),
        check_size(significant_name, "relative", options.relative),
        check_number(significant_name, "rows_max", options.rows_max, rows_most)})
    if (!checked) return fail(checked);
  return significant_filter(options);
}

expected<kept_rows> significant_filter::add(std::span<const std::uint64_t> ids,
                                            std::span<const float> gradients,
                                            std::span<const float> values) {
  const auto dim = options_.dim;
  const bool has_values = options_.relative > 0;
  for (const auto& checked : {check_call(significant_name, ids.size(), dim,
                                         "elements of gradients", gradients.size()),
                              check_call(significant_name, has_values ? ids.size() : 0, dim,
                                         "values", values.size())})
    if (!checked) return fail(checked);
  const auto before = rows_->size();
  places_.clear();
  firsts_.clear();
  ids_.clear();
  gradients_.clear();
  rows_->begin_call();
  std::uint64_t room = options_.rows_max - std::min(options_.rows_max, before);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto [at, is_new] = rows_->insert(ids[i]);
    if (rows_->is_first(at)) {
      places_.push_back(at);
      firsts_.push_back(static_cast<std::uint32_t>(i) | (is_new ? 1U << 31 : 0U));
    }
    const auto sum = rows_->values(at);
    for (std::uint32_t k = 0; k < dim; ++k) sum[k] += gradients[i * dim + k];
  }
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const bool is_new = (firsts_[i] >> 31) != 0;
    const std::size_t first = firsts_[i] & ~(1U << 31);
    const auto at = places_[i];
    const auto sum = std::as_const(*rows_).values(at);
    const float size = has_values ? largest_magnitude(values.subspan(first * dim, dim)) : 0.0F;
    const float bound = options_.threshold + options_.relative * size;
    if (!is_significant(sum, bound) && (!is_new || room > 0)) {
      room -= is_new ? 1 : 0;
      continue;
    }
    ids_.push_back(rows_->id(at));
    gradients_.insert(gradients_.end(), sum.begin(), sum.end());
    rows_->erase(at);
    room += is_new ? 0 : 1;
  }
  seen_ += places_.size();
  kept_ += ids_.size();
  return kept_rows{.ids = ids_, .gradients = gradients_};
}

kept_rows significant_filter::flush() {
  ids_.clear();
  gradients_.clear();
  rows_->ascending(places_);
  for (const auto at : places_) {
    const auto sum = std::as_const(*rows_).values(at);
    ids_.push_back(rows_->id(at));
    gradients_.insert(gradients_.end(), sum.begin(), sum.end());
  }
  rows_->clear();
  kept_ += ids_.size();
  return {.ids = ids_, .gradients = gradients_};
}

std::uint64_t significant_filter::held() const noexcept {
  return rows_->size();
}

std::vector<std::byte> significant_filter::save() const {
  std::vector<held_rows::place> places;
  rows_->ascending(places);
  state_writer state(filter_kind::significant, options_.dim);
  state.add(seen_);
  state.add(kept_);
  state.add(std::uint64_t{places.size()});
  for (const auto at : places) {
    state.add(rows_->id(at));
    state.add(std::as_const(*rows_).values(at));
  }
  return state.take();
}

status significant_filter::restore(std::span<const std::byte> bytes) {
  state_reader state(bytes, filter_kind::significant, options_.dim);
  std::uint64_t seen = 0, kept = 0, count = 0;
  auto rows = std::make_unique<held_rows>(options_.dim);
  bool is_good =
      state.read(seen) && state.read(kept) && state.read(count) && count <= options_.rows_max;
  for (std::uint64_t i = 0; is_good && i < count; ++i) {
    std::uint64_t id = 0;
    is_good = state.read(id);
    if (!is_good) break;
    const auto [at, is_new] = rows->insert(id);
    is_good = is_new && state.read(rows->values(at));
  }
  if (!is_good || !state.is_done()) return refused_state(significant_name, options_.dim);
  rows_ = std::move(rows);
  seen_ = seen;
  kept_ = kept;
  return {};
}

}  // namespace tidegate
