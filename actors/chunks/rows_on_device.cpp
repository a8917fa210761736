#include "actors/chunks/rows_on_device.hpp"

#include "runtime/base/planted.hpp"

namespace tidegate::actors {

namespace devices = runtime::devices;
using runtime::status;

runtime::expected<std::unique_ptr<rows_on_device>> rows_on_device::make(
    devices::device& on, endpoint_memory& endpoint, joined_work& work,
    std::uint64_t bytes_max) {
  auto queue = devices::row_queue::make(on, {});
  if (!queue) return runtime::fail(queue.error());
  return std::unique_ptr<rows_on_device>(
      new rows_on_device(on, endpoint, work, std::move(*queue), bytes_max));
}

rows_on_device::rows_on_device(devices::device& on, endpoint_memory& endpoint,
                               joined_work& work, std::unique_ptr<devices::row_queue> queue,
                               std::uint64_t bytes_max)
    : endpoint_(endpoint),
      work_(work),
      room_(on, bytes_max),
      queue_(std::move(queue)),
      engines_(*queue_, room_) {
  queue_->set_listener(this);
}

void rows_on_device::queued(devices::ticket last) {
  work_.begin(joined_work::queue::rows, last);
}

void rows_on_device::stop() {
  queue_->set_listener(nullptr);
  queue_->stop();
}

void rows_on_device::keep(policies::payload_handle payload, devices::ticket after) {
  if (queue_->submitted() == after ||
      runtime::is_planted(runtime::planted_bug::device_payload_not_kept))
    return;
  endpoint_.begin_reading(payload);
  reading_.push({queue_->submitted(), payload});
}

status rows_on_device::poll() {
  queue_->poll();
  if (!queue_->failure().ok()) return queue_->failure();
  for (; !reading_.empty() && reading_.front().first <= queue_->done(); reading_.pop())
    endpoint_.end_reading(reading_.front().second);
  work_.end(joined_work::queue::rows, queue_->done());
  return {};
}

// While a table is set up, which may take long: what a part is set to waits in memory.
status rows_on_device::keep_up() {
  constexpr devices::ticket waiting_max = 2;
  while (queue_->submitted() - queue_->done() > waiting_max)
    if (auto polled = poll(); !polled.ok()) return polled;
  return {};
}

std::string rows_on_device::account() const {
  const auto in_kib = [](std::uint64_t bytes) { return std::to_string(bytes >> 10U) + " KiB"; };
  if (room_.bytes_on_device() + room_.bytes_on_host() == 0) return {};
  return "rows of tables: " + in_kib(room_.bytes_on_device()) + " of the device, " +
         in_kib(room_.bytes_on_host()) + " of the host; " + std::to_string(room_.rows_moved()) +
         " rows changed places";
}

}  // namespace tidegate::actors
