#include "launch/simulate/cluster/worker_tables.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "launch/simulate/cluster/endpoint_process.hpp"
#include "launch/simulate/cluster/row_ids.hpp"
#include "policies/placement/ranges.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/kernels/gaps.hpp"

namespace tidegate::sim {

namespace {

bool is_among(const std::optional<std::vector<std::uint32_t>>& chunks, std::uint32_t chunk) {
  return !chunks || std::binary_search(chunks->begin(), chunks->end(), chunk);
}

}  // namespace

worker_tables::worker_tables(world& where, const process& owner, std::uint32_t rank,
                             std::uint32_t incarnation)
    : world_(where), owner_(owner), rank_(rank), incarnation_(incarnation) {
  constexpr double with_a_device = 0.7;
  if (!where.plan.on_devices || !where.chance.chance(with_a_device)) return;
  const auto wire = wire_of(owner.id());
  device_name_.resize(actors::device_gradients_bytes);
  std::copy(wire.begin(), wire.end(), device_name_.begin());
}

void worker_tables::enter(const policies::worker_welcome& welcome,
                          const policies::worker_core& core) {
  welcome_ = welcome;
  core_ = &core;
}

std::uint32_t worker_tables::epoch_incarnation() const {
  return epoch_incarnation_of(welcome_.epoch, incarnation_);
}

void worker_tables::add(const policies::table_grant& grant) {
  auto& table = tables_[grant.table];
  if (!table.halves.empty()) return;
  table.grant = grant;
  if (grant.rows.dim > 0) {
    table.rows = std::make_shared<actors::worker_rows>(grant, welcome_.seed, welcome_.token);
    const auto key = runtime::stream_key(welcome_.seed, grant.name);
    for (const auto& place : grant.places) {
      const auto ids =
          ids_of_part(key, static_cast<std::uint32_t>(grant.elements), place.chunk);
      table.ids.insert(table.ids.end(), ids.begin(), ids.end());
    }
  }
  const auto elements = table.elements();
  chunks_ += grant.places.size();
  for (std::uint32_t i = 0; i < policies::gradient_halves; ++i)
    table.halves.push_back(std::make_shared<std::vector<float>>(elements));
  for (std::uint32_t i = 0; has_device() && i < policies::gradient_halves; ++i)
    table.device_halves.push_back(std::make_shared<std::vector<float>>(elements));
  table.room = std::make_shared<std::vector<float>>(elements);
  table.sources.resize(grant.places.size());
}

std::uint64_t worker_tables::table_state::first_of(const policies::chunk_place& place) const {
  return rows ? place.chunk * floats_per_part : place.first;
}

std::uint64_t worker_tables::table_state::count_of(const policies::chunk_place& place) const {
  return rows ? floats_per_part : place.elements;
}

std::uint64_t worker_tables::table_state::elements() const {
  return rows ? grant.elements * floats_per_part : grant.elements;
}

std::size_t worker_tables::called_chunks() const {
  std::size_t called = 0;
  for (const auto& [id, table] : tables_)
    if (table.rows || !table.results.empty()) called += table.grant.places.size();
  return called;
}

void worker_tables::begin_pull(std::uint32_t id) {
  auto& table = tables_.at(id);
  if (table.rows && !table.rows->write_gather(table.ids))
    world_.check.fail("in order", owner_.name() + ": rows cannot be asked for");
}

worker_tables::part_list worker_tables::begin_pull_ahead(std::uint32_t id) {
  auto& table = tables_.at(id);
  if (!table.rows || core_->tables().at(id).pull.active) return {};
  const auto asked = table.rows->write_ahead(table.ids);
  if (!asked) world_.check.fail("in order", owner_.name() + ": rows cannot be asked for ahead");
  return asked ? *asked : part_list();
}

std::optional<worker_tables::part_list> worker_tables::take_rows(std::uint32_t id) {
  auto& table = tables_.at(id);
  if (!table.rows) return {};
  auto [unread, unmapped] = table.rows->scatter(*table.room);
  if (unread.empty()) return {};
  return unread;
}

memory_view worker_tables::chunk_values(const table_state& table, std::uint32_t chunk) const {
  const auto& place = table.grant.places[chunk];
  const auto& source = core_->tables().sources_of(table.grant.table)[chunk];
  if (source.version_buffer != policies::no_version_buffer && source.on_device)
    return {.where = table.sources[chunk].on_device.at(source.moves)->at(source.version_buffer),
            .first = 0,
            .count = place.elements};
  if (source.version_buffer == policies::no_version_buffer)
    return {
        .where = table.room, .first = table.first_of(place), .count = table.count_of(place)};
  return {.where = table.sources[chunk].mapped.at(source.moves)->at(source.version_buffer),
          .first = 0,
          .count = place.elements};
}

void worker_tables::read(std::uint64_t clock, bool is_final, std::uint32_t id) {
  auto& table = tables_.at(id);
  table.parameters.resize(table.elements());
  const auto sources = core_->tables().sources_of(id);
  for (const auto& place : table.grant.places) {
    // Rows are pulled of all parts, of some of them again.
    if (!table.rows && !sources[place.chunk].is_current) continue;
    check_source(table, place);
    const auto values = chunk_values(table, place.chunk).values();
    world_.check.pulled(welcome_.token, id, place.chunk,
                        {.rank = rank_,
                         .clock = clock,
                         .is_final = is_final,
                         .incarnation = epoch_incarnation()},
                        values);
    std::copy(values.begin(), values.end(),
              table.parameters.begin() + static_cast<std::ptrdiff_t>(table.first_of(place)));
  }
}

void worker_tables::check_source(const table_state& table,
                                 const policies::chunk_place& place) const {
  const auto id = table.grant.table;
  const auto& source = core_->tables().sources_of(id)[place.chunk];
  if (!source.on_device) return;
  const auto known = device_buffers(id, place.shard, source.moves);
  if (source.version_buffer >= runtime::device_buffers_max ||
      (known >> source.version_buffer & 1) == 0)
    world_.check.fail("fresh", owner_.name() +
                                   ": parameters are on a device, which it did not ask for or "
                                   "cannot read");
}

worker_tables::ranges worker_tables::draw_ranges(std::uint32_t id, draws& chance) const {
  const auto elements = tables_.at(id).grant.elements;
  ranges drawn;
  for (auto first = chance.below(elements); first < elements;) {
    const auto last = first + 1 + chance.below(elements - first);
    drawn.push_back({.first = first, .last = last});
    first = last + chance.below(elements / 2 + 1) + (chance.chance(0.5) ? 0 : 1);
  }
  return drawn;
}

std::optional<worker_tables::part_list> worker_tables::chunks_of(
    std::uint32_t id, const std::optional<ranges>& of) const {
  if (!of) return std::nullopt;
  part_list found;
  policies::find_chunks(tables_.at(id).grant.places, *of, found);
  return found;
}

std::optional<std::span<const std::uint32_t>> worker_tables::written_chunks(
    std::uint32_t id, std::uint32_t half) const {
  const auto& touched = tables_.at(id).touched[half];
  if (!touched) return std::nullopt;
  return *touched;
}

void worker_tables::write(std::uint32_t id, std::uint64_t clock, std::uint32_t half,
                          const std::optional<ranges>& of) {
  auto& table = tables_.at(id);
  const auto sources = core_->tables().sources_of(id);
  for (const auto& place : table.grant.places) {
    if (!sources[place.chunk].is_current) continue;
    const auto values = chunk_values(table, place.chunk).values();
    if (!std::equal(
            values.begin(), values.end(),
            table.parameters.begin() + static_cast<std::ptrdiff_t>(table.first_of(place))))
      world_.check.fail("never torn",
                        owner_.name() + ": parameters changed while they were read");
  }
  const auto key =
      runtime::mix64(welcome_.seed ^ (rank_ * 1000003ULL + clock * 7919ULL + table.number));
  auto& out = *(has_device() ? table.device_halves : table.halves)[half];
  table.written[half] = clock;
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = 0.25F * table.parameters[i] + runtime::uniform_signed(key, i);
  auto& touched = table.touched[half];
  touched.reset();
  if (table.rows) write_rows(table, key, half, out);
  if (of) {
    policies::find_chunks(table.grant.places, *of, touched.emplace());
    policies::visit_gaps(table.grant.places, *of, [&](const runtime::element_range& gap) {
      runtime::kernels::fill_with_gaps(std::span(out).subspan(gap.first, gap.last - gap.first));
    });
  }
  for (const auto& place : table.grant.places)
    if (is_among(touched, place.chunk))
      world_.check.pushed(welcome_.token, id, place.chunk,
                          {.rank = rank_, .clock = clock, .incarnation = epoch_incarnation()},
                          std::span(out).subspan(table.first_of(place), table.count_of(place)));
}

// Some rows are not pushed. Some are pushed in two halves, whose sum is the whole.
void worker_tables::write_rows(table_state& table, std::uint64_t key, std::uint32_t half,
                               std::span<float> gradient) {
  std::vector<std::uint64_t> ids;
  std::vector<float> values;
  for (std::size_t row = table.ids.size(); row-- > 0;) {  // in some order
    const auto part = gradient.subspan(row * row_dim, row_dim);
    const auto drawn = runtime::mix64(key + row) % 8;
    if (drawn < 3) {
      runtime::kernels::fill_with_gaps(part);
      continue;
    }
    const std::size_t times = drawn == 7 ? 2 : 1;
    for (std::size_t i = 0; i < times; ++i) {
      ids.push_back(table.ids[row]);
      for (const auto value : part)
        values.push_back(value * (1.0F / static_cast<float>(times)));
    }
  }
  auto parts = table.rows->write_push(half, ids, values);
  if (!parts) return world_.check.fail("in order", owner_.name() + ": rows are not pushed");
  table.touched[half] = std::move(*parts);
}

void worker_tables::copy_to_host(table_state& table, std::uint32_t half) {
  table.on_host[half] = true;
  *table.halves[half] = *table.device_halves[half];
}

void worker_tables::stage(const std::vector<std::uint32_t>& tables, std::uint32_t half,
                          bool to_host) {
  if (!has_device()) return;
  for (const auto id : tables) {
    auto& table = tables_.at(id);
    table.on_host[half] = false;
    sim::spoil(*table.halves[half]);
    if (to_host) copy_to_host(table, half);
  }
}

void worker_tables::bring_to_host() {
  if (!has_device()) return;
  for (auto& [id, table] : tables_)
    for (std::uint32_t half = 0; half < policies::gradient_halves; ++half)
      if (!table.on_host[half] && !core_->is_acknowledged(id, table.written[half]))
        copy_to_host(table, half);
}

void worker_tables::begin_push(policies::operation op, push begun) {
  for (const auto id : begun.tables) begun.touched[id] = tables_.at(id).touched[begun.half];
  pushes_[op] = std::move(begun);
}

void worker_tables::end_push(policies::operation op, bool is_exchange) {
  const auto at = pushes_.find(op);
  if (at == pushes_.end()) return;
  const auto ended = std::move(at->second);
  pushes_.erase(at);
  if (!is_exchange) return spoil(ended);
  exchanged_.push_back(ended);
  check_exchanged();
}

void worker_tables::check_exchanged() {
  std::erase_if(exchanged_, [&](push& candidate) {
    while (candidate.acknowledged < candidate.tables.size() &&
           core_->is_acknowledged(candidate.tables[candidate.acknowledged], candidate.clock))
      ++candidate.acknowledged;
    const bool is_over = candidate.acknowledged == candidate.tables.size();
    if (is_over) spoil(candidate);
    return is_over;
  });
}

// Unless the program has written there since.
void worker_tables::spoil(const push& ended) {
  for (const auto id : ended.tables) {
    const auto& table = tables_.at(id);
    for (const auto& place : table.grant.places)
      if (is_among(ended.touched.at(id), place.chunk))
        world_.check.acknowledged(
            welcome_.token, id, place.chunk,
            {.rank = rank_, .clock = ended.clock, .incarnation = epoch_incarnation()});
    if (table.written[ended.half] != ended.clock) continue;
    sim::spoil(*table.halves[ended.half]);
    if (has_device()) sim::spoil(*table.device_halves[ended.half]);
  }
}

runtime::place_wire worker_tables::place_of_gradients(std::uint32_t) const {
  return wire_of(owner_.id());
}

actors::sent_payload worker_tables::payload_of(const policies::worker_effects::send& send,
                                               std::optional<std::uint32_t> moves) {
  auto& known = tables_.at(send.table);
  if (known.rows) return actors::payload_of_send(*known.rows, *core_, send, moves);
  if (send.kind == policies::worker_effects::send_kind::call) return {.bytes = known.function};
  const auto* const first = gradient(send.table, send.half) + send.first;
  return {.bytes = std::as_bytes(std::span(first, send.elements))};
}

std::span<std::byte> worker_tables::room_for(const policies::chunk_place& chunk,
                                             std::uint32_t table) {
  auto& room = *tables_.at(table).room;
  return std::as_writable_bytes(std::span(room).subspan(chunk.first, chunk.elements));
}

runtime::status worker_tables::map_parameters(std::uint32_t table, const policies::table_part&,
                                              std::uint32_t moves,
                                              std::span<const std::byte> place) {
  const auto* const home = world_.find_as<endpoint_process>(owner_in(place));
  if (home == nullptr) return {runtime::errc::unavailable, "it is gone"};
  const auto& memory = home->memory();
  for (const auto slot : memory.slots_of(table))
    tables_.at(table).sources[memory.chunk_of(slot)].mapped[moves] =
        memory.version_buffers_of(slot);
  return {};
}

std::span<const std::byte> worker_tables::device_gradients(std::uint32_t) const {
  return device_name_;
}

runtime::status worker_tables::map_on_device(std::uint32_t id, const policies::table_part& part,
                                             std::uint32_t moves,
                                             std::span<const std::byte> places) {
  const auto named = runtime::decode_device_places(places);
  if (!named) return named.error();
  auto& table = tables_.at(id);
  for (const auto& place : *named) {
    const auto* const home = world_.find_as<endpoint_process>(owner_in(place.window));
    if (home == nullptr) return {runtime::errc::unavailable, "it is gone"};
    const auto& memory = home->memory();
    for (const auto slot : memory.slots_of(id))
      table.sources[memory.chunk_of(slot)].on_device[moves] = memory.device_buffers_of(slot);
    table.device_buffers[{part.shard, moves}] |= std::uint64_t{1} << place.copy;
  }
  return {};
}

std::uint64_t worker_tables::device_buffers(std::uint32_t id, std::uint32_t shard,
                                            std::uint32_t moves) const {
  if (!pulls_on_device(id)) return 0;
  const auto& opened = tables_.at(id).device_buffers;
  const auto at = opened.find({shard, moves});
  return at == opened.end() ? 0 : at->second;
}

// Now and then it wants parameters on the host.
bool worker_tables::pulls_on_device(std::uint32_t table) const {
  constexpr std::uint64_t each = 5;
  return !device_name_.empty() && runtime::mix64(core_->now() + table) % each != 0;
}

}  // namespace tidegate::sim
