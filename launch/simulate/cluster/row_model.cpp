#include "launch/simulate/cluster/row_model.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "runtime/base/rng.hpp"
#include "runtime/batches/coded_rows.hpp"
#include "runtime/kernels/gaps.hpp"

namespace tidegate::sim {

static_assert(row_dim <= runtime::coded_dim_most, "simulated rows have coded ids");

namespace {

template <class Rows>
std::uint64_t count_of(const Rows& rows) {
  return static_cast<std::uint64_t>(
      std::count_if(rows.begin(), rows.end(), [](const auto& row) { return row.exists; }));
}

// As many as are left where there were more than `limit`.
std::uint64_t kept_of(std::uint64_t limit) {
  return limit - limit / 16;
}

}  // namespace

row_model::row_model(const policies::rows_spec& rows, std::uint64_t parts,
                     std::vector<std::uint64_t> ids, std::span<const float> first_values)
    : rules_(rows.lifetime),
      ids_(std::move(ids)),
      first_values_(first_values.begin(), first_values.end()) {
  rules_.rows = (rules_.rows + parts - 1) / parts;
  rules_.candidates = (rules_.candidates + parts - 1) / parts;
}

void row_model::erase(std::uint32_t number, const arrays& at) {
  rows_[number] = {};
  const auto first = number * row_dim;
  std::copy_n(first_values_.begin() + first, row_dim, at.parameters.begin() + first);
  std::fill_n(at.state1.begin() + first, row_dim, 0.0F);
  std::fill_n(at.state2.begin() + first, row_dim, 0.0F);
}

std::uint32_t row_model::first_of(const all_rows& of, std::span<const float> parameters) const {
  const auto rank = [&](std::uint32_t number) {
    double worth = 0;
    if (rules_.by == runtime::eviction_order::lfu && !parameters.empty())
      worth = static_cast<double>(of[number].pushes);
    if (rules_.by == runtime::eviction_order::l2 && !parameters.empty())
      for (const double x : parameters.subspan(number * row_dim, row_dim)) worth += x * x;
    return std::tuple(worth, of[number].clock, runtime::mix64(ids_[number]));
  };
  std::uint32_t first = rows_per_part;
  for (std::uint32_t number = 0; number < rows_per_part; ++number)
    if (of[number].exists && (first == rows_per_part || rank(number) < rank(first)))
      first = number;
  return first;
}

void row_model::begin_step(std::uint64_t clock, std::span<std::vector<float>> gradients,
                           const arrays& at) {
  const auto before = now_;
  now_ = std::max(now_, clock);
  const auto period = std::max<std::uint64_t>(rules_.unseen / 16, 1);
  const auto is_unseen = [&](const row& of) {
    return of.exists && of.clock + rules_.unseen <= now_;
  };
  for (std::uint32_t number = 0; number < rows_per_part; ++number) {
    if (rules_.unseen == 0 || now_ / period == before / period) break;
    if (is_unseen(rows_[number])) erase(number, at);
    if (is_unseen(candidates_[number])) candidates_[number] = {};
  }
  for (std::uint32_t number = 0; number < rows_per_part; ++number) {
    const auto first = number * row_dim;
    const bool is_pushed = std::any_of(
        gradients.begin(), gradients.end(),
        [&](const auto& gradient) { return !runtime::kernels::is_gap(gradient[first]); });
    if (!is_pushed) continue;
    auto& row = rows_[number];
    auto& candidate = candidates_[number];
    if (!row.exists && rules_.admit_count > 1) {
      candidate.exists = true;
      candidate.clock = now_;
      if (++candidate.pushes < rules_.admit_count) {
        for (auto& gradient : gradients)
          runtime::kernels::fill_with_gaps(std::span(gradient).subspan(first, row_dim));
        continue;
      }
      candidate = {};
    }
    row.exists = true;
    row.clock = now_;
    ++row.pushes;
  }
  if (count_of(candidates_) > rules_.candidates)
    while (count_of(candidates_) > kept_of(rules_.candidates))
      candidates_[first_of(candidates_, {})] = {};
}

void row_model::end_step(const arrays& at) {
  if (rules_.rows > 0 && count_of(rows_) > rules_.rows)
    while (count_of(rows_) > kept_of(rules_.rows)) erase(first_of(rows_, at.parameters), at);
}

}  // namespace tidegate::sim
