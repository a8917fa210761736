#include "actors/table_memory.hpp"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

#include "runtime/base/assert.hpp"

namespace tidegate::actors {

using runtime::status;

namespace {

constexpr auto page = runtime::segment::page_bytes;

std::size_t pages(std::uint64_t bytes) {
  return (bytes + page - 1) / page * page;
}

}  // namespace

table_memory::table_memory(runtime::arena& gradients,
                           std::span<const policies::chunk_place> places)
    : gradients_(gradients),
      places_(places.begin(), places.end()),
      sources_(places.size()),
      elements_(places.back().first + places.back().elements) {
  stretches_.reserve(places.size());
}

table_memory::~table_memory() {
  for (auto* room : rooms_)
    if (room) ::munmap(room, pages(elements_ * sizeof(float)));
}

runtime::expected<std::shared_ptr<table_memory>> table_memory::make(
    runtime::arena& gradients, std::span<const policies::chunk_place> places) {
  TIDEGATE_ASSERT(!places.empty(), "a table has a chunk");
  std::shared_ptr<table_memory> made(new table_memory(gradients, places));
  auto place = gradients.allocate(made->elements_ * sizeof(float));
  if (!place) return runtime::fail(place.error());
  made->place_ = *place;
  for (std::uint32_t plane = 1; plane < gradients.planes(); ++plane)
    gradients.prepare(*place, plane);
  return made;
}

std::span<float> table_memory::gradient(std::uint32_t half) const {
  return {reinterpret_cast<float*>(gradients_.at(place_, half)), elements_};
}

bool table_memory::make_room(std::size_t which) {
  if (rooms_[which]) return true;
  void* at = ::mmap(nullptr, pages(elements_ * sizeof(float)), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return false;
  rooms_[which] = static_cast<std::byte*>(at);
  return true;
}

status table_memory::attach(const policies::table_part& part, const runtime::place_name& name,
                            std::uint32_t planes, runtime::window_map& windows) {
  std::uint64_t bytes = 0;
  for (const auto chunk : part.chunks) bytes += places_[chunk].elements * sizeof(float);
  auto opened = windows.open(name, bytes, planes, 1);
  if (!opened) return opened.error();
  has_windows_ = true;
  const auto* segment = windows.find(name.segment);
  const bool alone = part.chunks.size() == places_.size();
  std::uint64_t offset = 0;
  for (const auto chunk : part.chunks) {
    const auto& place = places_[chunk];
    const auto size = place.elements * sizeof(float);
    auto& source = sources_[chunk];
    source = {*opened, offset, {}};
    const auto at = place.first * sizeof(float);
    const bool whole_pages = at % page == 0 && (name.offset + offset) % page == 0 &&
                             (size % page == 0 || chunk + 1 == places_.size());
    for (std::size_t plane = 0; plane < std::min<std::size_t>(rooms, planes); ++plane)
      if (!alone && whole_pages && make_room(plane))
        source.mapped[plane] = segment->map_at(
            rooms_[plane] + at, plane * name.plane_bytes + name.offset + offset, pages(size));
    offset += size;
  }
  return {};
}

std::span<std::byte> table_memory::room_for(const policies::chunk_place& chunk) {
  if (!make_room(0)) return {};
  return {rooms_[0] + chunk.first * sizeof(float), chunk.elements * sizeof(float)};
}

const float* table_memory::at(std::size_t chunk, std::uint32_t plane) const {
  const auto& source = sources_[chunk];
  const auto here = places_[chunk].first * sizeof(float);
  const std::byte* bytes = nullptr;
  if (!source.window)
    bytes = rooms_[0] + here;  // where it was received
  else if (plane < rooms && source.mapped[plane])
    bytes = rooms_[plane] + here;
  else
    bytes = source.window.at(plane) + source.offset;
  return reinterpret_cast<const float*>(bytes);
}

void table_memory::found(std::span<const std::uint32_t> planes) {
  stretches_.clear();
  for (std::size_t chunk = 0; chunk < places_.size(); ++chunk) {
    const auto& place = places_[chunk];
    const std::span values(at(chunk, planes[chunk]), place.elements);
    if (!stretches_.empty()) {
      auto& last = stretches_.back().values;
      if (last.data() + last.size() == values.data()) {
        last = {last.data(), last.size() + values.size()};
        continue;
      }
    }
    stretches_.push_back({place.first, values});
  }
}

void table_memory::gather(std::span<float> out) const {
  for (const auto& one : stretches_)
    std::memcpy(out.data() + one.first, one.values.data(), one.values.size_bytes());
}

std::uint64_t table_memory::copy_part(const policies::table_part& part,
                                      std::span<const std::uint32_t> planes, float* out) const {
  std::uint64_t bytes = 0;
  for (const auto chunk : part.chunks) {
    const auto& place = places_[chunk];
    const auto size = place.elements * sizeof(float);
    std::memcpy(out + place.first, at(chunk, planes[chunk]), size);
    bytes += size;
  }
  return bytes;
}

}  // namespace tidegate::actors
