// Windows of a worker to the parameters of shards on a device that both have: for each part of
// a table, the version buffers that its shard has named. Windows that several places name are
// opened once. One thread, the device's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "policies/placement/placement.hpp"
#include "policies/worker/table_book.hpp"
#include "runtime/base/frame_header.hpp"
#include "runtime/base/status.hpp"
#include "runtime/device/device.hpp"
#include "runtime/transport/device_places.hpp"

namespace tidegate::actors {

class part_windows {
 public:
  // A process that a shard has been: its number, and how often it had moved.
  using process = std::pair<std::uint32_t, std::uint32_t>;

  // `on` outlives it.
  explicit part_windows(runtime::devices::device& on) : device_(on) {}

  // Opens what `places` names (bytes of device_places) of the parameters of this part of a
  // table. Errors: corrupt; those of device::open_window.
  runtime::status open(std::uint32_t table, const policies::table_part& part,
                       std::span<const policies::chunk_place> chunks, std::uint32_t moves,
                       std::span<const std::byte> places);
  // Returns the version buffers that are open, bit b standing for b.
  std::uint64_t buffers(std::uint32_t table, process of) const;
  // Returns where a chunk lies in a version buffer, for the device; null if that is not open.
  const float* at(std::uint32_t table, std::uint32_t chunk, const policies::chunk_source& found,
                  std::uint32_t shard) const;
  // Closes what is open of processes before the one that each shard is by now, where nothing of
  // the table was found in them last. No work on it is under way.
  void close_former(std::uint32_t table, std::span<const policies::chunk_place> chunks,
                    std::span<const policies::chunk_source> found);

 private:
  using shared_window = std::shared_ptr<runtime::devices::device_memory>;
  struct opened_buffer {
    shared_window window;
    const std::byte* begin = nullptr;  // of the part
  };
  struct opened_part {
    std::array<opened_buffer, runtime::device_buffers_max> buffers;
    std::map<std::uint32_t, std::uint64_t> offsets;  // of chunks within the part, in bytes
    std::uint64_t bytes = 0;
  };

  runtime::expected<shared_window> open(const runtime::device_place& place);
  const opened_part* find(std::uint32_t table, process of) const;

  runtime::devices::device& device_;
  std::map<decltype(runtime::device_place::window),
           std::weak_ptr<runtime::devices::device_memory>>
      windows_;
  std::map<std::pair<std::uint32_t, process>, opened_part> parts_;  // by table
};

}  // namespace tidegate::actors
