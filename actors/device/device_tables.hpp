// The tables of a session whose gradients and parameters are on a device: memory there, copies
// to and from the host for shards that do not read it there, and what the program's own stream
// has done.
//
// Work is queued and not waited for: a call returns a mark, and is_over() says when what it
// stands for has ended, after poll(). One thread at a time, the driver of the session's
// reactor; the session's own thread looks at table_addresses, and at bounce() while no copy is
// under way.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "actors/device/part_windows.hpp"
#include "policies/placement/placement.hpp"
#include "policies/protocol/double_buffer.hpp"
#include "policies/worker/table_book.hpp"
#include "runtime/base/status.hpp"
#include "runtime/device/device.hpp"
#include "runtime/device/updates/update_queue.hpp"

namespace tidegate::actors {

// Where a table lies on the device, for the session's thread: the halves of its gradient, once
// it is open, and the parameters that the last pull found, null if there are none.
struct table_addresses {
  std::array<float*, policies::gradient_halves> gradients{};
  std::atomic<const float*> parameters{nullptr};
};

class device_tables {
 public:
  // Work that has been queued.
  struct mark {
    runtime::devices::ticket copies = 0;
    std::optional<runtime::devices::event> work;
  };

  // `stream`: the program's (device::adopt_stream). Errors: those of the device.
  static runtime::expected<std::shared_ptr<device_tables>> make(
      std::unique_ptr<runtime::devices::device> on, std::uintptr_t stream);
  // Waits for what is under way.
  ~device_tables();
  device_tables(const device_tables&) = delete;
  device_tables& operator=(const device_tables&) = delete;

  const std::string& device_name() const noexcept { return device_->name(); }
  // Errors: those of device::adopt_stream.
  runtime::status set_stream(std::uintptr_t handle);
  // Takes memory for gradients of two clocks, which is zero when the mark is over, and says
  // where it is. Adding a table again changes nothing but that. Errors: io_error (the device
  // has no room), unavailable.
  runtime::expected<mark> add_table(std::uint32_t table,
                                    std::span<const policies::chunk_place> places,
                                    std::shared_ptr<table_addresses> addresses);

  bool has(std::uint32_t table) const { return tables_.contains(table); }

  // For the device's work; of a table that was added.
  float* gradient(std::uint32_t table, std::uint32_t half) const {
    return tables_.at(table).addresses->gradients[half];
  }
  // What find() found is not read any more.
  void reset(std::uint32_t table) { tables_.at(table).addresses->parameters = nullptr; }

  // Where the gradients lie, in bytes of device_places; empty: the device has no windows.
  std::span<const std::byte> gradient_places(std::uint32_t table) const {
    return tables_.at(table).places;
  }
  runtime::status map(std::uint32_t table, const policies::table_part& part,
                      std::uint32_t moves, std::span<const std::byte> places) {
    return windows_.open(table, part, tables_.at(table).chunks, moves, places);
  }
  std::uint64_t buffers(std::uint32_t table, std::uint32_t shard, std::uint32_t moves) const {
    return windows_.buffers(table, {shard, moves});
  }

  // ---- Work. Errors: unavailable (the device is lost), of all of them.

  // Stands for all that the program has queued on its stream by now.
  runtime::expected<mark> after_program();
  // Looks for NaN and infinity in these gradients; first_not_finite() says what it found when
  // the mark is over: an element, or nothing.
  runtime::expected<mark> check(std::span<const std::uint32_t> tables, std::uint32_t half);
  std::optional<std::uint64_t> first_not_finite(std::uint32_t table) const;
  // Copies a gradient from the host, whose memory stays as it is until the mark is over, and
  // to the host.
  mark bring_gradient(std::uint32_t table, std::uint32_t half, std::span<const float> from);
  mark take_gradient(std::uint32_t table, std::uint32_t half, std::span<float> to);
  // Copies a gradient from other memory of the device, and what find() found to there.
  runtime::expected<mark> bring_gradient(std::uint32_t table, std::uint32_t half,
                                         const float* from);
  runtime::expected<mark> hand_out(std::uint32_t table, float* to);
  // Brings a pull's parameters together, where the addresses say when the mark is over. `host`:
  // where each chunk lies that is not on the device. Chunks that lie side by side in windows
  // stay there.
  runtime::expected<mark> find(std::uint32_t table,
                               std::span<const policies::chunk_source> found,
                               std::span<const float* const> host);
  // Copies so many elements of device memory to the begin of bounce(), or from there; at most
  // bounce_elements.
  runtime::expected<mark> copy_out(const float* from, std::size_t elements);
  runtime::expected<mark> copy_in(float* to, std::size_t elements);
  std::span<float> bounce() const;
  static constexpr std::size_t bounce_elements = std::size_t{1} << 18;

  // Lets work go on. Errors: unavailable.
  runtime::status poll();
  bool is_over(mark& of);

 private:
  struct table_memory {
    std::vector<policies::chunk_place> chunks;
    std::uint64_t elements = 0;
    runtime::devices::chunk_index first = 0;  // of the queue
    std::vector<std::byte> places;
    std::shared_ptr<table_addresses> addresses;
    // As find() found them: the session's thread may have put its own away already.
    const float* found = nullptr;
    std::size_t verdict = 0;  // of check()
  };

  explicit device_tables(std::unique_ptr<runtime::devices::device> on);
  runtime::status set_up(std::uintptr_t stream);
  // Stands for what the stream has been given by now.
  runtime::expected<mark> mark_on(runtime::devices::stream on);
  runtime::expected<mark> copy(float* to, const float* from, std::uint64_t elements);
  runtime::status take_room(std::uint32_t id, std::span<const policies::chunk_place> places);
  runtime::expected<std::size_t> add_verdict();
  runtime::devices::input_place place_of(std::span<const float> memory) const;
  runtime::expected<float*> room_for_parameters(const table_memory& table);
  const float* in_windows(const table_memory& table, std::uint32_t id,
                          std::span<const policies::chunk_source> found) const;

  // What check() leaves, some of them together.
  struct verdicts {
    runtime::devices::device_memory on_device;
    runtime::devices::host_memory on_host;
  };

  std::unique_ptr<runtime::devices::device> device_;
  part_windows windows_{*device_};
  std::vector<verdicts> verdicts_;
  std::size_t verdicts_used_ = 0;
  runtime::devices::host_memory bounce_;
  runtime::devices::stream program_{}, work_{};
  std::vector<runtime::devices::event> events_;  // that are not in use
  std::map<std::uint32_t, table_memory> tables_;
  runtime::status failure_;
  std::unique_ptr<runtime::devices::update_queue> queue_;  // last: it uses all of the above
};

}  // namespace tidegate::actors
