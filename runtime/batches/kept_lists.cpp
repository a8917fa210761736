#include "runtime/batches/kept_lists.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/planted.hpp"

namespace tidegate::runtime {

std::optional<std::span<const std::byte>> kept_lists::find(const list_name& name,
                                                           std::uint32_t ids) const {
  const bool takes_any = is_planted(planted_bug::row_list_taken_for_any_name);
  const auto at = std::find_if(lists_.rbegin(), lists_.rend(), [&](const kept_list& list) {
    return list.ids == ids && (takes_any || list.name == name);
  });
  if (at == lists_.rend()) return std::nullopt;
  return std::as_bytes(std::span(ring_).subspan(at->begin, at->words));
}

void kept_lists::keep(const list_name& name, std::uint32_t ids,
                      std::span<const std::byte> code) {
  const auto words = code.size() / sizeof(std::uint64_t);
  const auto bytes = list_bytes(code.size());
  const auto has_name = [&](const kept_list& list) { return list.name == name; };
  if (code.empty() || bytes > bytes_max_ ||
      std::any_of(lists_.rbegin(), lists_.rend(), has_name))
    return;
  while (bytes_ + bytes > bytes_max_) forget_oldest();
  auto begin = find_room(words);
  for (; !begin; begin = find_room(words)) {
    if (ring_.size() * sizeof(std::uint64_t) < bytes_max_)
      grow(words);
    else
      forget_oldest();  // what is free is in two places
  }
  std::memcpy(ring_.data() + *begin, code.data(), code.size());
  lists_.push_back({.name = name, .ids = ids, .begin = *begin, .words = words});
  bytes_ += bytes;
}

void kept_lists::clear() {
  lists_.clear();
  bytes_ = 0;
}

void kept_lists::forget_oldest() {
  bytes_ -= lists_.front().bytes();
  lists_.erase(lists_.begin());
}

// Behind the newest list, or at the begin of the ring if there is not enough; never so that the
// newest would end where the oldest begins.
std::optional<std::size_t> kept_lists::find_room(std::size_t words) const {
  if (lists_.empty())
    return words <= ring_.size() ? std::optional<std::size_t>(0) : std::nullopt;
  const auto oldest = lists_.front().begin;
  const auto end = lists_.back().end();
  if (end <= oldest) return end + words < oldest ? std::optional(end) : std::nullopt;
  if (end + words <= ring_.size()) return end;
  return words < oldest ? std::optional<std::size_t>(0) : std::nullopt;
}

void kept_lists::grow(std::size_t words) {
  const auto most = std::max<std::size_t>(bytes_max_ / sizeof(std::uint64_t), 1);
  std::vector<std::uint64_t> larger(
      std::min(most, std::max(2 * ring_.size(), std::max<std::size_t>(8 * words, 64))));
  std::size_t end = 0;
  for (auto& list : lists_) {
    std::copy_n(ring_.data() + list.begin, list.words, larger.data() + end);
    list.begin = std::exchange(end, end + list.words);
  }
  ring_ = std::move(larger);
}

}  // namespace tidegate::runtime
