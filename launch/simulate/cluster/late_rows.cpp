#include "launch/simulate/cluster/late_rows.hpp"

#include <algorithm>
#include <utility>

#include "launch/simulate/cluster/endpoint_memory.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/kernels/row_step.hpp"

namespace tidegate::sim {

using runtime::row_number;
using runtime::row_source;

std::span<float> late_rows::values_of(row_number row) {
  return std::span(values_).subspan(row * std::size_t{shape_.dim}, shape_.dim);
}

std::span<float> late_rows::state_of(row_number row) {
  return std::span(states_).subspan(row * std::size_t{shape_.state_floats},
                                    shape_.state_floats);
}

std::span<float> late_rows::note_at(std::uint32_t list, std::uint64_t place) {
  if (notes_.size() <= list) notes_.resize(list + std::size_t{1});
  auto& notes = notes_[list];
  const auto end = (place + 1) * shape_.dim;
  if (notes.size() < end) notes.resize(end);
  return std::span(notes).subspan(place * shape_.dim, shape_.dim);
}

runtime::status late_rows::reserve(std::uint64_t rows) {
  if (values_.size() < rows * shape_.dim) {
    values_.resize(rows * shape_.dim);
    states_.resize(rows * shape_.state_floats);
  }
  return {};
}

void late_rows::begin(std::span<const row_number> rows, std::span<const float> values) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(values.data() + i * shape_.dim, shape_.dim, values_of(rows[i]).begin());
    std::ranges::fill(state_of(rows[i]), 0.0F);
  }
}

void late_rows::put(std::span<const row_number> rows, std::span<const float> values,
                    std::span<const float> states, const runtime::row_memory_owner&) {
  begin(rows, values);
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy_n(states.data() + i * shape_.state_floats, shape_.state_floats,
                state_of(rows[i]).begin());
}

void late_rows::note(const runtime::row_notes& into, std::span<const row_number> rows) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::ranges::copy(values_of(rows[i]), note_at(into.list, into.first + i).begin());
}

void late_rows::put_notes(const runtime::row_notes& into, std::span<const float> values,
                          const runtime::row_memory_owner&) {
  for (std::size_t i = 0; i * shape_.dim < values.size(); ++i)
    std::copy_n(values.data() + i * shape_.dim, shape_.dim,
                note_at(into.list, into.first + i).begin());
}

void late_rows::step(std::span<const segment> segments, std::span<const row_number> rows,
                     std::span<const float* const> gradients) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const auto& [step, columns] : segments)
      runtime::step_row(
          step, {gradients[i] + columns.first, columns.columns},
          values_of(rows[i]).subspan(columns.first, columns.columns),
          state_of(rows[i]).subspan(
              columns.state, runtime::state_floats({.kind = step.kind}, columns.columns)));
}

void late_rows::copy_later(std::vector<copy> copies, runtime::row_memory_owner owner) {
  const auto carry_out = [](const std::vector<copy>& all) {
    for (const auto& row : all) std::ranges::copy(row.values, row.to);
  };
  if (owner.object == nullptr && !owner.payload) return carry_out(copies);
  for (auto& row : copies) spoil({row.to, row.values.size()});
  device_.begin(
      [copies = std::move(copies), owner = std::move(owner), carry_out] { carry_out(copies); });
}

void late_rows::read(std::span<const row_source> from, float* out,
                     runtime::row_memory_owner owner) {
  std::vector<copy> copies;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i].from == row_source::place::nowhere) continue;
    const auto values = from[i].from == row_source::place::row
                            ? values_of(from[i].number)
                            : note_at(from[i].list, from[i].number);
    copies.push_back({out + i * shape_.dim, {values.begin(), values.end()}});
  }
  copy_later(std::move(copies), std::move(owner));
}

void late_rows::read_states(std::span<const row_number> rows, float* out,
                            runtime::row_memory_owner owner) {
  std::vector<copy> copies;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto state = state_of(rows[i]);
    copies.push_back({out + i * shape_.state_floats, {state.begin(), state.end()}});
  }
  copy_later(std::move(copies), std::move(owner));
}

}  // namespace tidegate::sim
