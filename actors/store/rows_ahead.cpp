#include "actors/store/rows_ahead.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"

namespace tidegate::actors {

void rows_ahead::ask(const runtime::batch_writer& sorted,
                     std::span<const std::uint32_t> asked) {
  for (auto& part : parts_) {
    part.rows = 0;
    part.state = answer_state::none;
  }
  for (const auto number : asked) {
    auto& part = parts_[number];
    part.rows = sorted.rows_of(number);
    sorted.write_ids(number, part.request.begin(part.rows));
    part.answer = part.memory.resize(runtime::row_changes_bytes(part.rows, part.rows, dim_));
  }
}

sent_payload rows_ahead::request(std::uint32_t number, bool is_plain, bool names_list) {
  auto& part = parts_[number];
  part.state = answer_state::none;
  const auto request = is_plain ? part.request.plain() : part.request.coded(names_list);
  runtime::ask_changes(request, {});
  return {.bytes = request, .is_coded = !is_plain};
}

std::span<std::byte> rows_ahead::room(std::uint32_t number, std::uint64_t bytes) {
  auto& part = parts_[number];
  if (part.rows == 0 || bytes != part.answer.size()) return {};
  part.state = answer_state::arrives;
  return part.answer;
}

std::optional<runtime::row_mark> rows_ahead::mark_of(std::uint32_t number,
                                                     std::span<const std::uint64_t> ids) {
  auto& part = parts_[number];
  if (part.state == answer_state::none || part.rows != ids.size()) return std::nullopt;
  const auto asked = part.request.ids();
  if (!std::equal(ids.begin(), ids.end(), asked.begin())) return std::nullopt;
  if (part.state == answer_state::arrives) {
    const auto arrived = runtime::read_row_changes(part.answer, part.rows, dim_);
    const bool is_whole = arrived && arrived->values.size() == std::size_t{part.rows} * dim_;
    part.state = is_whole ? answer_state::is_here : answer_state::none;
    if (!is_whole) return std::nullopt;
    part.mark = arrived->mark;
  }
  if (part.mark.history == 0) return std::nullopt;
  return part.mark;
}

std::span<float> rows_ahead::values(part_rows& part) const {
  auto* const first = part.answer.data() + runtime::row_changes_values(part.rows);
  return {reinterpret_cast<float*>(first), std::size_t{part.rows} * dim_};
}

std::span<const float> rows_ahead::update(std::uint32_t number,
                                          const runtime::row_changes& changes) {
  auto& part = parts_[number];
  TIDEGATE_ASSERT(part.state == answer_state::is_here, "rows that are here");
  const auto all = values(part);
  const auto* next = changes.values.data();
  for (std::size_t row = 0; row < part.rows; ++row) {
    if (!changes.has(row)) continue;
    std::copy_n(next, dim_, all.data() + row * dim_);
    next += dim_;
  }
  part.mark = changes.mark;
  return all;
}

}  // namespace tidegate::actors
