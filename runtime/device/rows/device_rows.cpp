#include "runtime/device/rows/device_rows.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/device/rows/row_vectors.hpp"

namespace tidegate::runtime::devices {

namespace {

constexpr std::uint64_t piece_bytes_max = std::uint64_t{4} << 20U;

constexpr std::size_t whole_floats(std::size_t floats) {
  return whole_vectors(floats * sizeof(float)) / sizeof(float);
}

}  // namespace

// As much again as there is, up to pieces of a size that a device gives gladly. Once a piece is
// the host's the next ones are.
status device_rows::place_list::reserve(row_room& room, row_queue& queue,
                                        std::uint64_t places) {
  while (this->places() < places) {
    const auto block_bytes = block_places * floats_ * sizeof(float);
    const auto blocks = std::clamp<std::uint64_t>(
        blocks_.size(), 1, std::max<std::uint64_t>(1, piece_bytes_max / block_bytes));
    const auto where =
        is_all_on_device() ? row_room::place::device_first : row_room::place::host;
    auto taken = room.take(blocks * block_bytes, where);
    if (!taken) return taken.error();
    auto& piece = taken->memory;
    // What lies between values and state is copied along with them.
    if (taken->is_fresh) queue.clear({piece.data(), piece.size()});
    auto* const begin = reinterpret_cast<float*>(piece.data());
    for (std::uint64_t i = 0; i < blocks; ++i)
      blocks_.push_back(begin + i * block_places * floats_);
    if (piece.is_on_device()) on_device_ = this->places();
    pieces_.push_back(std::move(piece));
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
  const auto leave = [&](place_list& places) {
    for (auto& piece : places.pieces()) room_.give_back(std::move(piece));
  };
  leave(rows_);
  for (auto& list : notes_) leave(list);
}

status device_rows::reserve(std::uint64_t rows) {
  static_cast<void>(room_.waiting_room());  // while there is memory
  if (auto reserved = rows_.reserve(room_, queue_, rows); !reserved.ok()) return reserved;
  if (!rows_.is_all_on_device())
    places_.set_on_device(static_cast<std::uint32_t>(rows_.on_device()));
  places_.add(rows);
  return {};
}

status device_rows::reserve_notes(std::uint32_t list, std::uint64_t notes) {
  while (notes_.size() <= list) notes_.emplace_back(state_begin_);
  return notes_[list].reserve(room_, queue_, notes);
}

std::span<float* const> device_rows::places_of(std::span<const row_number> rows,
                                               std::size_t offset) {
  destinations_.clear();
  for (const auto row : rows) destinations_.push_back(values_of(row) + offset);
  return destinations_;
}

// New rows have nothing to bring: others make room for them.
void device_rows::begin(std::span<const row_number> rows, std::span<const float> values) {
  if (rows.empty()) return;
  find_exchanges(rows);
  using exchange = row_places::exchange;
  copy_all(exchanges_, row_floats_, [&](const exchange& moved, std::size_t) {
    return kernels::row_copy{.to = rows_.at(moved.host), .from = rows_.at(moved.device)};
  });
  queue_.write(places_of(rows, 0), values, shape_.dim);
  if (shape_.state_floats == 0) return;
  copies_.clear();
  for (const auto row : rows) copies_.push_back({.to = state_of(row), .from = nullptr});
  queue_.copy(copies_, shape_.state_floats);
}

void device_rows::put(std::span<const row_number> rows, std::span<const float> values,
                      std::span<const float> states, const row_memory_owner& owner) {
  if (rows.empty()) return;
  queue_.write(places_of(rows, 0), values.data(), shape_.dim, owner);
  if (shape_.state_floats > 0)
    queue_.write(places_of(rows, state_begin_), states.data(), shape_.state_floats, owner);
}

void device_rows::note(const row_notes& into, std::span<const row_number> rows) {
  if (rows.empty()) return;
  copies_.clear();
  for (std::size_t i = 0; i < rows.size(); ++i)
    copies_.push_back({.to = notes_[into.list].at(into.first + i), .from = values_of(rows[i])});
  queue_.copy(copies_, shape_.dim);
}

void device_rows::put_notes(const row_notes& into, std::span<const float> values,
                            const row_memory_owner& owner) {
  if (values.empty()) return;
  destinations_.clear();
  for (std::size_t i = 0; i < values.size() / shape_.dim; ++i)
    destinations_.push_back(notes_[into.list].at(into.first + i));
  queue_.write(destinations_, values.data(), shape_.dim, owner);
}

void device_rows::find_exchanges(std::span<const row_number> rows) {
  exchanges_.clear();
  if (!rows_.is_all_on_device()) places_.bring(rows, exchanges_);
  room_.count_moved(exchanges_.size());
}

template <class CopyOf>
void device_rows::copy_all(std::span<const row_places::exchange> some, std::size_t floats,
                           const CopyOf& copy_of) {
  if (some.empty()) return;
  copies_.clear();
  for (std::size_t i = 0; i < some.size(); ++i) copies_.push_back(copy_of(some[i], i));
  queue_.copy(copies_, floats);
}

// Where there is no memory to wait in rows stay where they are, and are stepped there.
void device_rows::prepare_step(std::span<const row_number> rows) {
  const auto waiting = room_.waiting_room();
  if (waiting.size() < row_floats_) return;
  find_exchanges(rows);
  bring_all(waiting.size() / row_floats_, waiting.data());
}

// Rows of the device wait beside the others while those of the host come in.
void device_rows::bring_all(std::size_t at_a_time, float* waiting) {
  using exchange = row_places::exchange;
  const auto floats =
      is_planted(planted_bug::row_moved_out_without_its_state) ? state_begin_ : row_floats_;
  for (std::size_t first = 0; first < exchanges_.size(); first += at_a_time) {
    const auto some =
        std::span(exchanges_).subspan(first, std::min(at_a_time, exchanges_.size() - first));
    copy_all(some, floats, [&](const exchange& moved, std::size_t i) {
      return kernels::row_copy{.to = waiting + i * row_floats_, .from = rows_.at(moved.device)};
    });
    copy_all(some, row_floats_, [&](const exchange& moved, std::size_t) {
      return kernels::row_copy{.to = rows_.at(moved.device), .from = rows_.at(moved.host)};
    });
    copy_all(some, floats, [&](const exchange& moved, std::size_t i) {
      return kernels::row_copy{.to = rows_.at(moved.host), .from = waiting + i * row_floats_};
    });
  }
}

void device_rows::step(std::span<const segment> segments, std::span<const row_number> rows,
                       std::span<const float* const> gradients) {
  if (rows.empty()) return;
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
