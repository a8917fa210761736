#include <algorithm>
#include <limits>

#include "runtime/filters/filter_state.hpp"
#include <tidegate/filters.hpp>

namespace tidegate {

namespace {

using namespace runtime::filters;

constexpr auto kkt_name = "kkt_filter";

// How far an element is from the conditions of l1 |w| + l2/2 w^2; not a number where it has
// none.
float violation_of(const kkt_options& options, float w, float g) {
  if (w == 0) return std::abs(g) <= options.l1 ? 0.0F : std::abs(g) - options.l1;
  return std::abs(g + options.l2 * w + std::copysign(options.l1, w));
}

// Looks at elements, and returns whether all of them may be dropped.
bool may_drop(const kkt_options& options, float threshold, std::span<const float> values,
              std::span<const float> gradients, float& violation) {
  bool all = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    // The order of the operands leaves NaN out.
    violation = std::max(violation, violation_of(options, values[i], gradients[i]));
    all = all && values[i] == 0 && std::abs(gradients[i]) <= threshold;
  }
  return all;
}

}  // namespace

expected<kkt_filter> kkt_filter::create(const kkt_options& options) {
  for (const auto& checked :
       {check_number(kkt_name, "dim", options.dim, runtime::limits::row_dim_max),
        check_size(kkt_name, "l1", options.l1), check_size(kkt_name, "l2", options.l2),
        check_size(kkt_name, "slack", options.slack),
        check_size(kkt_name, "slack_share", options.slack_share)})
    if (!checked) return fail(checked);
  kkt_filter filter(options);
  filter.before_ = options.slack_share > 0 ? std::numeric_limits<float>::infinity() : 0.0F;
  return filter;
}

float kkt_filter::threshold() const noexcept {
  const float bound = options_.l1 - options_.slack;
  return options_.slack_share > 0 ? bound - options_.slack_share * before_ : bound;
}

expected<kept_rows> kkt_filter::rows(std::span<const std::uint64_t> ids,
                                     std::span<const float> values,
                                     std::span<const float> gradients) {
  for (const auto& checked :
       {check_call(kkt_name, ids.size(), options_.dim, "values", values.size()),
        check_call(kkt_name, ids.size(), options_.dim, "elements of gradients",
                   gradients.size())})
    if (!checked) return fail(checked);
  ids_.clear();
  gradients_.clear();
  const auto bound = threshold();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto row = gradients.subspan(i * options_.dim, options_.dim);
    if (may_drop(options_, bound, values.subspan(i * options_.dim, options_.dim), row,
                 violation_))
      continue;
    ids_.push_back(ids[i]);
    gradients_.insert(gradients_.end(), row.begin(), row.end());
  }
  seen_ += ids.size();
  kept_ += ids_.size();
  return kept_rows{.ids = ids_, .gradients = gradients_};
}

expected<kept_ranges> kkt_filter::ranges(std::span<const element_range> ranges,
                                         std::span<const float> values,
                                         std::span<const float> gradients) {
  std::uint64_t elements = 0, end = 0;
  for (const auto& range : ranges) {
    if (range.first >= range.last || range.first < end)
      return fail(errc::invalid_argument,
                  "kkt_filter: range [" + std::to_string(range.first) + ", " +
                      std::to_string(range.last) +
                      ") is empty, or begins before the end of that before it; allowed: ranges "
                      "that ascend and do not overlap");
    end = range.last;
    elements += range.last - range.first;
  }
  if (elements != values.size() || elements != gradients.size())
    return fail(errc::invalid_argument, "kkt_filter: ranges of " + std::to_string(elements) +
                                            " elements with " + std::to_string(values.size()) +
                                            " values and " + std::to_string(gradients.size()) +
                                            " gradients; allowed: as many of each");
  ranges_.clear();
  gradients_.clear();
  const auto bound = threshold();
  std::size_t at = 0;
  for (const auto& range : ranges) {
    bool is_open = false;  // whether the last range that is kept is of this range
    for (auto i = range.first; i < range.last; ++i, ++at) {
      if (may_drop(options_, bound, values.subspan(at, 1), gradients.subspan(at, 1),
                   violation_))
        continue;
      const auto dropped = is_open ? i - ranges_.back().last : 0;
      if (!is_open || dropped > options_.gap) {
        ranges_.push_back({.first = i, .last = i + 1});
        gradients_.push_back(gradients[at]);
        is_open = true;
        continue;
      }
      const auto joined = gradients.subspan(at - dropped, dropped + 1);
      gradients_.insert(gradients_.end(), joined.begin(), joined.end());
      ranges_.back().last = i + 1;
    }
  }
  seen_ += elements;
  kept_ += gradients_.size();
  return kept_ranges{.ranges = ranges_, .gradients = gradients_};
}

void kkt_filter::end_pass() noexcept {
  before_ = violation_;
  violation_ = 0;
}

std::vector<std::byte> kkt_filter::save() const {
  state_writer state(filter_kind::kkt, options_.dim);
  state.add(before_);
  state.add(violation_);
  state.add(seen_);
  state.add(kept_);
  return state.take();
}

status kkt_filter::restore(std::span<const std::byte> bytes) {
  state_reader state(bytes, filter_kind::kkt, options_.dim);
  float before = 0, violation = 0;
  std::uint64_t seen = 0, kept = 0;
  if (!state.read(before) || !state.read(violation) || !state.read(seen) || !state.read(kept) ||
      !state.is_done())
    return refused_state(kkt_name, options_.dim);
  before_ = before;
  violation_ = violation;
  seen_ = seen;
  kept_ = kept;
  return {};
}

}  // namespace tidegate
