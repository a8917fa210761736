#include "runtime/device/rows/row_room.hpp"

#include <algorithm>
#include <utility>

namespace tidegate::runtime::devices {

namespace {

constexpr std::uint64_t waiting_bytes = std::uint64_t{2} << 20U;
// What rows leave of a device's memory where nothing says how much they may take: chunks of
// dense tables take more as versions are kept, and workers may be on the same device.
constexpr std::uint64_t left_to_others = 8;  // one part of so many

}  // namespace

bool row_room::may_take(std::uint64_t bytes) {
  if (bytes_max_ > 0) return bytes_on_device_ + bytes_kept_ + bytes <= bytes_max_;
  const auto room = device_.memory();
  return room.free >= bytes + room.bytes / left_to_others;
}

bool row_room::find_kept(std::uint64_t bytes, bool on_device, piece& found) {
  const auto at = std::find_if(kept_.begin(), kept_.end(), [&](const piece& item) {
    return item.is_on_device() == on_device && item.size() == bytes;
  });
  if (at == kept_.end()) return false;
  if (on_device) bytes_kept_ -= bytes;
  found = std::move(*at);
  kept_.erase(at);
  bytes_of(found) += bytes;
  return true;
}

expected<row_room::taken> row_room::take(std::uint64_t bytes, place where) {
  taken result;
  if (where == place::device_first) {
    if (find_kept(bytes, true, result.memory)) return result;
    if (may_take(bytes)) {
      auto memory = device_.allocate_unshown(bytes);
      if (!memory && memory.error().code() != errc::io_error) return fail(memory.error());
      if (memory) {
        result.memory.on_device = std::move(*memory);
        result.is_fresh = true;
        bytes_on_device_ += bytes;
        return result;
      }
    }
  }
  if (find_kept(bytes, false, result.memory)) return result;
  auto memory = device_.allocate_host(bytes);
  if (!memory && memory.error().code() != errc::io_error) return fail(memory.error());
  if (!memory)
    return fail(errc::no_space, device_.name() + " has no memory left for rows, and " +
                                    memory.error().message());
  bytes_on_host_ += bytes;
  result.memory.on_host = std::move(*memory);
  return result;
}

void row_room::give_back(piece given) {
  bytes_of(given) -= given.size();
  if (given.is_on_device()) bytes_kept_ += given.size();
  kept_.push_back(std::move(given));
}

std::span<float> row_room::waiting_room() {
  if (!std::exchange(asked_for_waiting_room_, true))
    if (auto room = take(waiting_bytes, place::device_first))
      waiting_room_ = std::move(room->memory);
  if (waiting_room_.data() == nullptr) return {};
  return {reinterpret_cast<float*>(waiting_room_.data()), waiting_bytes / sizeof(float)};
}

}  // namespace tidegate::runtime::devices
