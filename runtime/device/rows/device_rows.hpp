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
#include "runtime/rows/row_engine.hpp"

namespace tidegate::runtime::devices {

// Memory of a device that rows of several tables share.
class row_room {
 public:
  // `bytes_max`: of the device; 0: all that it gives.
  row_room(device& on, std::uint64_t bytes_max) : device_(on), bytes_max_(bytes_max) {}

  struct piece {
    device_memory on_device;
    host_memory on_host;
    std::byte* data() const noexcept {
      return on_device ? on_device.data() : on_host.bytes().data();
    }
  };
  // Memory of the device, or of the host where that has no more and `may_be_on_host`. Errors:
  // no_space, unavailable.
  expected<piece> take(std::uint64_t bytes, bool may_be_on_host);

  // Memory that rows wait in while others come to the device: of all tables, as all copies of
  // a device's rows are made one after the other; empty if memory is short.
  std::span<float> waiting_room();
  // Memory of so many bytes is given back.
  void give_back(const piece& given) noexcept;

  std::uint64_t bytes_on_device() const noexcept { return bytes_on_device_; }
  std::uint64_t bytes_on_host() const noexcept { return bytes_on_host_; }
  std::uint64_t rows_moved() const noexcept { return rows_moved_; }  // that came to the device
  void count_moved(std::uint64_t rows) noexcept { rows_moved_ += rows; }

 private:
  device& device_;
  std::uint64_t bytes_max_;
  std::uint64_t bytes_on_device_ = 0;
  std::uint64_t bytes_on_host_ = 0;
  std::uint64_t rows_moved_ = 0;
  piece waiting_room_;
};

class device_rows final : public row_engine {
 public:
  // All outlive it.
  device_rows(row_queue& queue, row_room& room, const row_shape& shape);
  // Memory is given back when the work on it has ended.
  ~device_rows() override;
  device_rows(const device_rows&) = delete;
  device_rows& operator=(const device_rows&) = delete;

  status reserve(std::uint64_t rows) override;
  void begin(std::span<const row_number> rows, std::span<const float> values) override;
  void put(std::span<const row_number> rows, std::span<const float> values,
           std::span<const float> states) override;
  status note(const row_notes& into, std::span<const row_number> rows) override;
  status put_notes(const row_notes& into, std::span<const float> values) override;
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
    status reserve(row_room& room, std::uint64_t places);
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
  status reserve_notes(const row_notes& into, std::size_t count);
  void bring(std::span<const row_number> rows);
  void write_rows(std::span<const row_number> rows, std::span<const float> from,
                  std::size_t floats, std::size_t offset);

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
