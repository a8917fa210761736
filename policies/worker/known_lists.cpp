#include "policies/worker/known_lists.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "policies/protocol/frame_tags.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::policies {

known_lists::part_lists* known_lists::find(std::uint32_t table, std::uint32_t part) {
  const auto at = parts_.find({table, part});
  return at == parts_.end() ? nullptr : &at->second;
}

bool known_lists::is_kept(const part_lists& of, const sent_list& list) {
  return std::any_of(of.kept.begin(), of.kept.end(),
                     [&](const sent_list& other) { return other.name == list.name; });
}

bool known_lists::push(std::uint32_t table, std::uint32_t part, std::uint64_t clock,
                       const sent_list& list) {
  auto& of = parts_[{table, part}];
  of.pushed[clock % window] = {.clock = clock, .list = list};
  return is_kept(of, list);
}

bool known_lists::pull(std::uint32_t table, std::uint32_t part, const sent_list& list) {
  auto& of = parts_[{table, part}];
  of.pulled = list;
  return is_kept(of, list);
}

void known_lists::push_taken(std::uint32_t table, std::uint32_t part, std::uint64_t clock) {
  auto* const of = find(table, part);
  if (of == nullptr) return;
  auto& pushed = of->pushed[clock % window];
  if (pushed.list && pushed.clock == clock) keep(*of, *std::exchange(pushed.list, {}));
}

void known_lists::pull_taken(std::uint32_t table, std::uint32_t part) {
  auto* const of = find(table, part);
  if (of != nullptr && of->pulled) keep(*of, *std::exchange(of->pulled, {}));
}

bool known_lists::push_refused(std::uint32_t table, std::uint32_t part, std::uint64_t clock) {
  auto* const of = find(table, part);
  if (of == nullptr) return false;
  const auto& pushed = of->pushed[clock % window];
  if (!pushed.list || pushed.clock != clock) return false;
  drop(*of, *pushed.list);
  return true;
}

bool known_lists::pull_refused(std::uint32_t table, std::uint32_t part) {
  auto* const of = find(table, part);
  if (of == nullptr || !of->pulled) return false;
  drop(*of, *of->pulled);
  return true;
}

bool known_lists::sends(const worker_effects::send& send, const sent_list& list) {
  if (send.kind == worker_effects::send_kind::call) return pull(send.table, send.chunk, list);
  return push(send.table, send.chunk, send.clock, list);
}

// A reply may say that the push of the clock before is applied, too.
std::optional<worker_core::unanswered> known_lists::take(const runtime::frame_header& header) {
  const auto [table, part, clock] = std::tuple(header.table, header.chunk, header.clock);
  const bool is_ack = header.kind == runtime::frame_kind::push_ack;
  const bool refuses = static_cast<reply_code>(header.code) == reply_code::unknown_list;
  if (refuses && is_ack && push_refused(table, part, clock))
    return worker_core::unanswered{.table = table, .chunk = part, .clock = clock};
  if (refuses && answers_pull(header) && pull_refused(table, part))
    return worker_core::unanswered{.table = table, .chunk = part};
  if (header.code != 0) return std::nullopt;
  if (is_ack) push_taken(table, part, clock);
  if (!answers_pull(header)) return std::nullopt;
  pull_taken(table, part);
  if ((header.flags & runtime::frame_flag_applied) != 0) push_taken(table, part, clock - 1);
  return std::nullopt;
}

void known_lists::forget(std::uint32_t table, std::uint32_t part) {
  parts_.erase({table, part});
}

std::uint64_t known_lists::bytes(std::uint32_t table, std::uint32_t part) const {
  const auto at = parts_.find({table, part});
  return at == parts_.end() ? 0 : at->second.bytes;
}

void known_lists::keep(part_lists& of, const sent_list& list) const {
  if (list.bytes > bytes_max_ || is_kept(of, list)) return;
  auto first = of.kept.begin();
  while (of.bytes + list.bytes > bytes_max_) of.bytes -= first++->bytes;
  of.kept.erase(of.kept.begin(), first);
  of.kept.push_back(list);
  of.bytes += list.bytes;
}

void known_lists::drop(part_lists& of, const sent_list& list) {
  if (runtime::is_planted(runtime::planted_bug::row_list_named_after_a_refusal)) return;
  const auto at = std::find_if(of.kept.begin(), of.kept.end(),
                               [&](const sent_list& other) { return other.name == list.name; });
  if (at == of.kept.end()) return;
  of.bytes -= at->bytes;
  of.kept.erase(at);
}

}  // namespace tidegate::policies
