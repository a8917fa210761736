// The rows of tables that a shard has on its device: what makes engines for the parts of
// row_store, and what they read and write later. A payload that a step reads stays until then,
// released or not.
//
// One reactor thread, also of the device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "actors/chunks/joined_work.hpp"
#include "actors/store/endpoint_memory.hpp"
#include "policies/shard/effects.hpp"
#include "runtime/base/status.hpp"
#include "runtime/device/device.hpp"
#include "runtime/device/rows/device_rows.hpp"
#include "runtime/device/rows/row_queue.hpp"
#include "runtime/transport/fifo.hpp"

namespace tidegate::actors {

class rows_on_device final : private runtime::devices::row_queue::listener {
 public:
  // `bytes_max`: of the device, for rows; 0: see row_room. All but the endpoint's rows
  // outlive it; stop() comes before they go. Errors: those of row_queue::make().
  static runtime::expected<std::unique_ptr<rows_on_device>> make(runtime::devices::device& on,
                                                                 endpoint_memory& endpoint,
                                                                 joined_work& work,
                                                                 std::uint64_t bytes_max);
  ~rows_on_device() override = default;
  rows_on_device(const rows_on_device&) = delete;
  rows_on_device& operator=(const rows_on_device&) = delete;

  runtime::row_engines& engines() noexcept { return engines_; }
  runtime::devices::ticket last_queued() const noexcept { return queue_->submitted(); }
  // Keeps a payload that what was queued after this ticket reads, until it has.
  void keep(policies::payload_handle payload, runtime::devices::ticket after);
  // Errors: unavailable (the device is lost).
  runtime::status poll();
  // As chunk_engine::keep_up().
  runtime::status keep_up();
  // Waits until nothing reads or writes memory of others any more.
  void stop();
  // What lies where, a line for people; empty where there are no rows.
  std::string account() const;

 private:
  rows_on_device(runtime::devices::device& on, endpoint_memory& endpoint, joined_work& work,
                 std::unique_ptr<runtime::devices::row_queue> queue, std::uint64_t bytes_max);
  void queued(runtime::devices::ticket last) override;

  endpoint_memory& endpoint_;
  joined_work& work_;
  runtime::devices::row_room room_;
  std::unique_ptr<runtime::devices::row_queue> queue_;  // works on the room's memory
  runtime::devices::device_row_engines engines_;
  runtime::fifo<std::pair<runtime::devices::ticket, policies::payload_handle>> reading_;
};

}  // namespace tidegate::actors
