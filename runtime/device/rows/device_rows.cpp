#include "runtime/device/rows/device_rows.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/device/rows/row_vectors.hpp"

namespace tidegate::runtime::devices {

namespace {

constexpr std::uint64_t piece_bytes_max = std::uint64_t{4} << 20;
// Of rows that change places at a time.
constexpr std::uint64_t waiting_bytes = std::uint64_t{256} << 10U;

constexpr std::size_t whole_floats(std::size_t floats) {
  return whole_vectors(floats * sizeof(float)) / sizeof(float);
}

}  // namespace

expected<row_room::piece> row_room::take(std::uint64_t bytes, bool may_be_on_host) {
  piece taken;
  if (bytes_max_ == 0 || bytes_on_device_ + bytes <= bytes_max_) {
    auto memory = device_.allocate(bytes);
    if (memory) {
      bytes_on_device_ += bytes;
      taken.on_device = std::move(*memory);
      return taken;
    }
    if (memory.error().code() != errc::io_error) return fail(memory.error());
  }
  if (!may_be_on_host)
    return fail(errc::no_space, device_.name() + ": no memory for rows of tables");
  auto memory = device_.allocate_host(bytes);
  if (!memory) return fail(errc::no_space, memory.error().message());
  bytes_on_host_ += bytes;
  taken.on_host = std::move(*memory);
  return taken;
}

std::span<float> row_room::waiting_room() {
  if (!waiting_room_.on_device && !waiting_room_.on_host)
    if (auto taken = take(waiting_bytes, true)) waiting_room_ = std::move(*taken);
  if (!waiting_room_.on_device && !waiting_room_.on_host) return {};
  return {reinterpret_cast<float*>(waiting_room_.data()), waiting_bytes / sizeof(float)};
}

void row_room::give_back(const piece& given) noexcept {
  if (given.on_device)
    bytes_on_device_ -= given.on_device.size();
  else
    bytes_on_host_ -= given.on_host.bytes().size();
}

status device_rows::place_list::reserve(row_room& room, std::uint64_t places) {
  while (this->places() < places) {
    // As much again as there is, up to pieces of a size that a device gives gladly.
    const auto block_bytes = block_places * floats_ * sizeof(float);
    const auto blocks = std::clamp<std::uint64_t>(
        blocks_.size(), 1, std::max<std::uint64_t>(1, piece_bytes_max / block_bytes));
    auto piece = room.take(blocks * block_bytes, true);
    if (!piece) return piece.error();
    const bool is_next_on_device = piece->on_device && is_all_on_device();
    auto* const begin = reinterpret_cast<float*>(piece->data());
    for (std::uint64_t i = 0; i < blocks; ++i)
      blocks_.push_back(begin + i * block_places * floats_);
    if (is_next_on_device) on_device_ = this->places();
    pieces_.push_back(std::move(*piece));
  }
  return {};
}

device_rows::device_rows(row_queue& queue, row_room& room, const row_shape& shape)
    : queue_(queue),
      room_(room),
      shape_(shape),
      state_begin_(whole_floats(shape.dim)),
      row_floats_(state_begin_ + whole_floats(shape.state_floats)),
      rows_(row_floats_) {}

device_rows::~device_rows() {
  const auto pieces = std::make_shared<std::vector<row_room::piece>>();
  const auto leave = [&](place_list& places) {
    for (auto& piece : places.pieces()) {
      room_.give_back(piece);
      pieces->push_back(std::move(piece));
    }
  };
  leave(rows_);
  for (auto& list : notes_) leave(list);
  if (!pieces->empty()) queue_.copy({}, 0, {.object = pieces, .payload = {}});
}

status device_rows::reserve(std::uint64_t rows) {
  if (auto reserved = rows_.reserve(room_, rows); !reserved.ok()) return reserved;
  if (!rows_.is_all_on_device())
    places_.set_on_device(static_cast<std::uint32_t>(rows_.on_device()));
  places_.add(rows);
  return {};
}

void device_rows::write_rows(std::span<const row_number> rows, std::span<const float> from,
                             std::size_t floats, std::size_t offset) {
  if (floats == 0 || rows.empty()) return;
  destinations_.clear();
  for (const auto row : rows) destinations_.push_back(values_of(row) + offset);
  queue_.write(destinations_, from, floats);
}

void device_rows::begin(std::span<const row_number> rows, std::span<const float> values) {
  if (rows.empty()) return;
  bring(rows);
  write_rows(rows, values, shape_.dim, 0);
  if (shape_.state_floats == 0) return;
  copies_.clear();
  for (const auto row : rows) copies_.push_back({.to = state_of(row), .from = nullptr});
  queue_.copy(copies_, shape_.state_floats);
}

void device_rows::put(std::span<const row_number> rows, std::span<const float> values,
                      std::span<const float> states) {
  write_rows(rows, values, shape_.dim, 0);
  write_rows(rows, states, shape_.state_floats, state_begin_);
}

status device_rows::reserve_notes(const row_notes& into, std::size_t count) {
  while (notes_.size() <= into.list) notes_.emplace_back(state_begin_);
  return notes_[into.list].reserve(room_, into.first + count);
}

status device_rows::note(const row_notes& into, std::span<const row_number> rows) {
  if (rows.empty()) return {};
  if (auto reserved = reserve_notes(into, rows.size()); !reserved.ok()) return reserved;
  copies_.clear();
  for (std::size_t i = 0; i < rows.size(); ++i)
    copies_.push_back({.to = notes_[into.list].at(into.first + i), .from = values_of(rows[i])});
  queue_.copy(copies_, shape_.dim);
  return {};
}

status device_rows::put_notes(const row_notes& into, std::span<const float> values) {
  const auto count = values.size() / shape_.dim;
  if (count == 0) return {};
  if (auto reserved = reserve_notes(into, count); !reserved.ok()) return reserved;
  destinations_.clear();
  for (std::size_t i = 0; i < count; ++i)
    destinations_.push_back(notes_[into.list].at(into.first + i));
  queue_.write(destinations_, values, shape_.dim);
  return {};
}

// Rows of the device wait beside the others while those of the host come in. Where there is no
// memory for that rows stay where they are, and are stepped there.
void device_rows::bring(std::span<const row_number> rows) {
  if (rows_.is_all_on_device()) return;
  const auto waiting = room_.waiting_room();
  const auto at_a_time = waiting.size() / row_floats_;
  if (at_a_time == 0) return;
  exchanges_.clear();
  places_.bring(rows, exchanges_);
  const auto floats =
      is_planted(planted_bug::row_moved_out_without_its_state) ? state_begin_ : row_floats_;
  for (std::size_t first = 0; first < exchanges_.size(); first += at_a_time) {
    const auto some =
        std::span(exchanges_).subspan(first, std::min(at_a_time, exchanges_.size() - first));
    const auto queue = [&](const auto& copy_of, std::size_t count) {
      copies_.clear();
      for (std::size_t i = 0; i < some.size(); ++i) copies_.push_back(copy_of(some[i], i));
      queue_.copy(copies_, count);
    };
    using exchange = row_places::exchange;
    queue(
        [&](const exchange& rows, std::size_t i) {
          return kernels::row_copy{.to = waiting.data() + i * row_floats_,
                                   .from = rows_.at(rows.device)};
        },
        floats);
    queue(
        [&](const exchange& rows, std::size_t) {
          return kernels::row_copy{.to = rows_.at(rows.device), .from = rows_.at(rows.host)};
        },
        row_floats_);
    queue(
        [&](const exchange& rows, std::size_t i) {
          return kernels::row_copy{.to = rows_.at(rows.host),
                                   .from = waiting.data() + i * row_floats_};
        },
        floats);
  }
  room_.count_moved(exchanges_.size());
}

void device_rows::step(std::span<const segment> segments, std::span<const row_number> rows,
                       std::span<const float* const> gradients) {
  if (rows.empty()) return;
  bring(rows);
  steps_.clear();
  for (std::size_t i = 0; i < rows.size(); ++i)
    steps_.push_back({.values = values_of(rows[i]),
                      .state = shape_.state_floats > 0 ? state_of(rows[i]) : nullptr,
                      .gradient = gradients[i]});
  queue_.step(segments, steps_, shape_.dim);
}

void device_rows::read(std::span<const row_source> from, float* out, row_memory_owner owner) {
  if (from.empty()) return;
  using place = row_source::place;
  sources_.clear();
  for (const auto& row : from)
    sources_.push_back(row.from == place::nowhere ? nullptr
                       : row.from == place::row   ? values_of(row.number)
                                                  : notes_[row.list].at(row.number));
  const std::span bytes(reinterpret_cast<const std::byte*>(out),
                        from.size() * shape_.dim * sizeof(float));
  if (!queue_.can_reach(bytes)) {
    queue_.read(sources_, shape_.dim, out, std::move(owner));
    return;
  }
  copies_.clear();
  for (std::size_t i = 0; i < from.size(); ++i)
    if (sources_[i] != nullptr)
      copies_.push_back({.to = out + i * shape_.dim, .from = sources_[i]});
  queue_.copy(copies_, shape_.dim, std::move(owner));
}

void device_rows::read_states(std::span<const row_number> rows, float* out,
                              row_memory_owner owner) {
  if (rows.empty() || shape_.state_floats == 0) return;
  sources_.clear();
  for (const auto row : rows) sources_.push_back(state_of(row));
  queue_.read(sources_, shape_.state_floats, out, std::move(owner));
}

}  // namespace tidegate::runtime::devices
