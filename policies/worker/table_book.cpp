#include "policies/worker/table_book.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/base/assert.hpp"

namespace tidegate::policies {

void push_state::begin(std::uint64_t at_clock, operation named, std::uint32_t in_half) {
  TIDEGATE_ASSERT(!active, "within the credit window");
  active = true;
  clock = at_clock;
  op = named;
  half = in_half;
  retransmit = {};
  remaining = static_cast<std::uint32_t>(acked.size());
  std::fill(acked.begin(), acked.end(), std::uint8_t{0});
  std::fill(untouched.begin(), untouched.end(), std::uint8_t{0});
}

void push_state::touch(std::span<const std::uint32_t> touched) {
  std::fill(untouched.begin(), untouched.end(), std::uint8_t{1});
  for (const auto chunk : touched) untouched[chunk] = 0;
}

void pull_state::begin(std::uint64_t at_clock, operation named, bool of_final,
                       std::uint64_t request) {
  active = true;
  clock = at_clock;
  is_final = of_final;
  calls = false;
  is_ahead = false;
  op = named;
  retransmit = {};
  remaining = static_cast<std::uint32_t>(chunks.size());
  code = reply_code::ok;
  std::fill(chunks.begin(), chunks.end(), replied::no);
  std::fill(requests.begin(), requests.end(), request);
}

void pull_state::ask_only(std::span<const std::uint32_t> wanted) {
  std::fill(chunks.begin(), chunks.end(), replied::not_asked);
  for (const auto chunk : wanted) chunks[chunk] = replied::no;
  remaining = static_cast<std::uint32_t>(wanted.size());
}

const table_part* worker_table::part_at(std::uint32_t shard) const {
  const auto part = std::find_if(parts.begin(), parts.end(),
                                 [&](const table_part& entry) { return entry.shard == shard; });
  return part == parts.end() ? nullptr : &*part;
}

bool worker_table::is_attached() const {
  return std::all_of(parts.begin(), parts.end(),
                     [](const table_part& part) { return part.attached; });
}

std::array<std::size_t, worker_table::window> worker_table::older_first() const {
  std::array<std::size_t, window> slots{};
  std::iota(slots.begin(), slots.end(), std::size_t{0});
  std::sort(slots.begin(), slots.end(),
            [&](auto a, auto b) { return pushes[a].clock < pushes[b].clock; });
  return slots;
}

void table_book::add(std::uint32_t id, std::vector<chunk_place> places, std::uint64_t clock) {
  TIDEGATE_ASSERT(!places.empty(), "a table has a chunk");
  auto [at, fresh] = tables_.try_emplace(id);
  if (!fresh) return;
  auto& table = at->second;
  table.pushed_below = clock;
  for (auto& push : table.pushes) {
    push.acked.resize(places.size());
    push.untouched.resize(places.size());
  }
  table.pull.chunks.resize(places.size());
  table.pull.requests.resize(places.size());
  table.sources.resize(places.size());
  for (const auto& place : places) {
    auto part =
        std::find_if(table.parts.begin(), table.parts.end(),
                     [&](const table_part& entry) { return entry.shard == place.shard; });
    if (part == table.parts.end())
      part = table.parts.insert(
          part, table_part{.shard = place.shard, .attached = false, .chunks = {}});
    part->chunks.push_back(place.chunk);
  }
  table.places = std::move(places);
}

void table_book::attach(std::uint32_t id, std::uint32_t shard) {
  for (auto& part : tables_.at(id).parts)
    if (part.shard == shard) part.attached = true;
}

void table_book::shard_moved(std::uint32_t shard) {
  ++moves_[shard];
  for (auto& [id, table] : tables_)
    for (auto& part : table.parts)
      if (part.shard == shard) part.attached = false;
}

worker_table* table_book::find(std::uint32_t id) {
  return const_cast<worker_table*>(std::as_const(*this).find(id));
}

const worker_table* table_book::find(std::uint32_t id) const {
  const auto at = tables_.find(id);
  return at == tables_.end() ? nullptr : &at->second;
}

worker_table* table_book::find(std::uint32_t id, std::uint32_t chunk) {
  return const_cast<worker_table*>(std::as_const(*this).find(id, chunk));
}

const worker_table* table_book::find(std::uint32_t id, std::uint32_t chunk) const {
  const auto at = tables_.find(id);
  return at == tables_.end() || chunk >= at->second.places.size() ? nullptr : &at->second;
}

bool table_book::is_of_use(const worker_effects::send& item) const {
  using send_kind = worker_effects::send_kind;
  const auto* table = item.table == all_tables ? nullptr : find(item.table);
  if (!table || item.kind == send_kind::finished) return true;
  if (item.kind == send_kind::pull || item.kind == send_kind::call) return table->pull.active;
  if (item.kind == send_kind::doorbell && !item.pushes) return true;
  // An exchange's push has its pull with it, and is from memory that stays.
  if (item.pulls && table->pull.active) return true;
  const auto& push = table->pushes[item.clock % worker_table::window];
  return push.active && push.clock == item.clock;
}

std::span<const std::uint32_t> table_book::chunks_of(const worker_table& table,
                                                     const part_run& run) {
  const auto* part = table.part_at(run.shard);
  if (!part) return {};
  const auto chunks = std::span(part->chunks);
  if (run.count == 0) return chunks;
  if (run.first > chunks.size() || run.count > chunks.size() - run.first) return {};
  return chunks.subspan(run.first, run.count);
}

const chunk_place& table_book::place_of(std::uint32_t id, std::uint32_t chunk) const {
  const auto* table = find(id, chunk);
  TIDEGATE_ASSERT(table != nullptr, "a known chunk");
  return table->places[chunk];
}

std::span<const table_part> table_book::parts_of(std::uint32_t id) const {
  return tables_.at(id).parts;
}

std::span<const chunk_source> table_book::sources_of(std::uint32_t id) const {
  return tables_.at(id).sources;
}

bool table_book::is_any_pulled_ahead() const {
  return std::any_of(tables_.begin(), tables_.end(), [](const auto& entry) {
    return entry.second.pull.active && entry.second.pull.is_ahead;
  });
}

}  // namespace tidegate::policies
