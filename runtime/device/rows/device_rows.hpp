// Values and states of rows on a device. A row's values and state lie side by side, in pieces
// of memory that are taken as rows are made. When the device has no more, or may hold no more,
// further rows lie in memory of the host that it works on directly, and rows that are stepped
// come to the device in place of others (row_places.hpp).
//
// Thread rule: that of the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/base/status.hpp"
#include "runtime/device/device.hpp"
#include "runtime/device/rows/row_places.hpp"
#include "runtime/device/rows/row_queue.hpp"
#include "runtime/device/rows/row_room.hpp"
#include "runtime/rows/row_engine.hpp"

namespace tidegate::runtime::devices {

class device_rows final : public row_engine {
 public:
  // All outlive it.
  device_rows(row_queue& queue, row_room& room, const row_shape& shape);
  // Gives its memory back to the room.
  ~device_rows() override;
  device_rows(const device_rows&) = delete;
  device_rows& operator=(const device_rows&) = delete;

  status reserve(std::uint64_t rows) override;
  status reserve_notes(std::uint32_t list, std::uint64_t notes) override;
  void prepare_step(std::span<const row_number> rows) override;
  void begin(std::span<const row_number> rows, std::span<const float> values) override;
  void put(std::span<const row_number> rows, std::span<const float> values,
           std::span<const float> states, const row_memory_owner& owner) override;
  void note(const row_notes& into, std::span<const row_number> rows) override;
  void put_notes(const row_notes& into, std::span<const float> values,
                 const row_memory_owner& owner) override;
  void step(std::span<const segment> segments, std::span<const row_number> rows,
            std::span<const float* const> gradients) override;
  void read(std::span<const row_source> from, float* out, row_memory_owner owner) override;
  void read_states(std::span<const row_number> rows, float* out,
                   row_memory_owner owner) override;

 private:
  // Places of one size in pieces that grow, so that a small table takes little.
  class place_list {
   public:
    explicit place_list(std::size_t floats) : floats_(floats) {}
    // Makes room for so many. Errors: those of row_room::take().
    status reserve(row_room& room, row_queue& queue, std::uint64_t places);
    float* at(std::uint64_t place) const {
      return blocks_[place / block_places] + place % block_places * floats_;
    }
    std::uint64_t places() const noexcept { return blocks_.size() * block_places; }
    // Of the places from the first on.
    std::uint64_t on_device() const noexcept { return on_device_; }
    bool is_all_on_device() const noexcept { return on_device_ == places(); }
    std::vector<row_room::piece>& pieces() noexcept { return pieces_; }

   private:
    static constexpr std::size_t block_places = 64;
    std::size_t floats_;
    std::vector<row_room::piece> pieces_;
    std::vector<float*> blocks_;
    std::uint64_t on_device_ = 0;
  };

  float* values_of(row_number row) const { return rows_.at(places_.place_of(row)); }
  float* state_of(row_number row) const { return values_of(row) + state_begin_; }
  void find_exchanges(std::span<const row_number> rows);
  void bring_all(std::size_t at_a_time, float* waiting);
  template <class CopyOf>
  void copy_all(std::span<const row_places::exchange> some, std::size_t floats,
                const CopyOf& copy_of);
  std::span<float* const> places_of(std::span<const row_number> rows, std::size_t offset);

  row_queue& queue_;
  row_room& room_;
  row_shape shape_;
  std::size_t state_begin_ = 0;  // floats from the values of a row
  std::size_t row_floats_ = 0;   // of both, and of what is between them
  place_list rows_;
  std::vector<place_list> notes_;
  row_places places_;
  std::vector<row_places::exchange> exchanges_;
  std::vector<kernels::row_copy> copies_;
  std::vector<kernels::row_addresses> steps_;
  std::vector<const float*> sources_;
  std::vector<float*> destinations_;
};

// Makes engines whose rows share a queue and a device.
class device_row_engines final : public row_engines {
 public:
  // Both outlive it, and what it makes.
  device_row_engines(row_queue& queue, row_room& room) : queue_(queue), room_(room) {}
  expected<std::unique_ptr<row_engine>> make(const row_shape& shape) override {
    return std::unique_ptr<row_engine>(std::make_unique<device_rows>(queue_, room_, shape));
  }

 private:
  row_queue& queue_;
  row_room& room_;
};

}  // namespace tidegate::runtime::devices
