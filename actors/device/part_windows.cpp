#include "actors/device/part_windows.hpp"

#include <algorithm>

namespace tidegate::actors {

using runtime::errc;
using runtime::status;

runtime::expected<part_windows::shared_window> part_windows::open(
    const runtime::device_place& place) {
  auto& known = windows_[place.window];
  if (auto window = known.lock()) return window;
  auto opened = device_.open_window({.bytes = place.window});
  if (!opened) return runtime::fail(opened.error());
  auto window = std::make_shared<runtime::devices::device_memory>(std::move(*opened));
  known = window;
  return window;
}

status part_windows::open(std::uint32_t table, const policies::table_part& part,
                          std::span<const policies::chunk_place> chunks, std::uint32_t moves,
                          std::span<const std::byte> places) {
  const auto named = runtime::decode_device_places(places);
  if (!named) return named.error();
  std::erase_if(windows_, [](const auto& entry) { return entry.second.expired(); });
  auto& opened = parts_[{table, {part.shard, moves}}];
  if (opened.offsets.empty())
    for (const auto chunk : part.chunks) {
      opened.offsets[chunk] = opened.bytes;
      opened.bytes += chunks[chunk].elements * sizeof(float);
    }
  for (const auto& place : *named) {
    if (place.copy >= opened.buffers.size())
      return {errc::corrupt, "a version buffer on a device that there is not"};
    auto window = open(place);
    if (!window) return window.error();
    const auto size = (*window)->size();
    if (place.offset > size || opened.bytes > size - place.offset ||
        place.offset % alignof(float) != 0)
      return {errc::corrupt, "parameters beyond their window on a device"};
    opened.buffers[place.copy] = {.window = *window, .begin = (*window)->data() + place.offset};
  }
  return {};
}

const part_windows::opened_part* part_windows::find(std::uint32_t table, process of) const {
  const auto at = parts_.find({table, of});
  return at == parts_.end() ? nullptr : &at->second;
}

std::uint64_t part_windows::buffers(std::uint32_t table, process of) const {
  const auto* part = find(table, of);
  std::uint64_t result = 0;
  if (part == nullptr) return result;
  for (std::size_t i = 0; i < part->buffers.size(); ++i)
    if (part->buffers[i].window) result |= std::uint64_t{1} << i;
  return result;
}

const float* part_windows::at(std::uint32_t table, std::uint32_t chunk,
                              const policies::chunk_source& found, std::uint32_t shard) const {
  const auto* part = find(table, {shard, found.moves});
  if (part == nullptr || found.version_buffer >= part->buffers.size()) return nullptr;
  const auto* begin = part->buffers[found.version_buffer].begin;
  const auto offset = part->offsets.find(chunk);
  if (begin == nullptr || offset == part->offsets.end()) return nullptr;
  return reinterpret_cast<const float*>(begin + offset->second);
}

void part_windows::close_former(std::uint32_t table,
                                std::span<const policies::chunk_place> chunks,
                                std::span<const policies::chunk_source> found) {
  std::erase_if(parts_, [&](const auto& entry) {
    const auto& [of_table, of] = entry.first;
    if (of_table != table) return false;
    const auto later = parts_.upper_bound({table, of});
    const bool is_former = later != parts_.end() && later->first.first == table &&
                           later->first.second.first == of.first;
    if (!is_former) return false;
    return std::none_of(chunks.begin(), chunks.end(), [&, of = of](const auto& place) {
      const auto& source = found[place.chunk];
      return source.on_device && place.shard == of.first && source.moves == of.second;
    });
  });
}

}  // namespace tidegate::actors
