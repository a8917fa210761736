#include "actors/store/table_memory.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <sys/mman.h>
#include <utility>

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
                           std::span<const policies::chunk_place> places, bool one_array)
    : gradients_(gradients),
      one_array_(one_array),
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
    runtime::arena& gradients, policies::mapping_budget& mappings,
    std::span<const policies::chunk_place> places) {
  TIDEGATE_ASSERT(!places.empty(), "a table has a chunk");
  const bool one_array = mappings.take(policies::mappings_of_array(places));
  std::shared_ptr<table_memory> memory(new table_memory(gradients, places, one_array));
  auto place = gradients.allocate(memory->elements_ * sizeof(float));
  if (!place) return runtime::fail(place.error());
  memory->place_ = *place;
  for (std::uint32_t half = 1; half < gradients.copies(); ++half)
    gradients.prepare(*place, half);
  return memory;
}

std::span<float> table_memory::gradient(std::uint32_t half) const {
  return {reinterpret_cast<float*>(gradients_.at(place_, half)), elements_};
}

bool table_memory::make_room(std::size_t index) {
  if (rooms_[index]) return true;
  void* at = ::mmap(nullptr, pages(elements_ * sizeof(float)), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return false;
  rooms_[index] = static_cast<std::byte*>(at);
  return true;
}

status table_memory::attach(const policies::table_part& part, const runtime::shm_handle& name,
                            std::uint32_t version_buffers, std::uint32_t moves,
                            runtime::window_map& windows) {
  std::uint64_t bytes = 0;
  for (const auto chunk : part.chunks) bytes += places_[chunk].elements * sizeof(float);
  auto opened = windows.open(name, bytes, version_buffers, 1);
  if (!opened) return opened.error();
  has_windows_ = true;
  const bool alone = part.chunks.size() == places_.size();
  std::uint64_t offset = 0;
  for (const auto chunk : part.chunks) {
    next_source next;
    next.source = {.window = *opened,
                   .offset = offset,
                   .shard = part.shard,
                   .moves = moves,
                   .alone = alone,
                   .mapped = {}};
    next.windows = &windows;
    next.segment = name.segment;
    next.version_buffers = version_buffers;
    next.copy_bytes = name.copy_bytes;
    next.begin = name.offset + offset;
    // What was found is read on where it is.
    if (moves > 0)
      next_[chunk].push_back(next);
    else
      settle(chunk, next);
    offset += places_[chunk].elements * sizeof(float);
  }
  return {};
}

// From now on the chunk is read there, side by side with others where whole pages allow it.
void table_memory::settle(std::size_t chunk, const next_source& next) {
  const auto& place = places_[chunk];
  const auto size = place.elements * sizeof(float);
  clear_room(chunk);
  auto& source = sources_[chunk];
  source = next.source;
  const auto at = place.first * sizeof(float);
  const bool whole_pages = at % page == 0 && next.begin % page == 0 &&
                           (size % page == 0 || chunk + 1 == places_.size());
  for (std::size_t version_buffer = 0;
       version_buffer < std::min<std::size_t>(rooms, next.version_buffers); ++version_buffer)
    if (one_array_ && !source.alone && whole_pages && make_room(version_buffer))
      source.mapped[version_buffer] =
          next.windows->find(next.segment)
              ->map_at(rooms_[version_buffer] + at,
                       version_buffer * next.copy_bytes + next.begin, pages(size));
}

// What was mapped at the chunk's place in its rooms is not read any more.
void table_memory::clear_room(std::size_t chunk) {
  const auto& place = places_[chunk];
  for (std::size_t version_buffer = 0; version_buffer < rooms; ++version_buffer) {
    if (!std::exchange(sources_[chunk].mapped[version_buffer], false)) continue;
    void* at = ::mmap(rooms_[version_buffer] + place.first * sizeof(float),
                      pages(place.elements * sizeof(float)), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    TIDEGATE_ASSERT(at != MAP_FAILED, "pages take the place of pages");
  }
}

std::span<std::byte> table_memory::room_for(const policies::chunk_place& chunk) {
  if (!make_room(0)) return {};
  clear_room(chunk.chunk);  // its shard has moved to where memory is not shared
  return {rooms_[0] + chunk.first * sizeof(float), chunk.elements * sizeof(float)};
}

const float* table_memory::at(std::size_t chunk, std::uint32_t version_buffer) const {
  const auto& source = sources_[chunk];
  const auto here = places_[chunk].first * sizeof(float);
  const std::byte* bytes = nullptr;
  if (!source.window)
    bytes = rooms_[0] + here;  // where it was received
  else if (version_buffer < rooms && source.mapped[version_buffer])
    bytes = rooms_[version_buffer] + here;
  else
    bytes = source.window.at(version_buffer) + source.offset;
  return reinterpret_cast<const float*>(bytes);
}

// Returns the begin of an array of the whole table in which the chunk lies, or null.
const float* table_memory::array_of(std::size_t chunk, std::uint32_t version_buffer) const {
  const auto& source = sources_[chunk];
  const bool in_room =
      !source.window || (version_buffer < rooms && source.mapped[version_buffer]);
  return in_room || source.alone ? at(chunk, version_buffer) - places_[chunk].first : nullptr;
}

// The chunk is read where it was found, or, as nobody asked for it, will be.
void table_memory::settle_found(std::size_t chunk, const place_found& found,
                                next_sources& next) {
  auto at = std::prev(next.end());
  if (found.is_current) {
    if (found.version_buffer == policies::no_version_buffer) return;
    const auto is = [&](const next_source& entry) { return entry.source.moves == found.moves; };
    at = std::find_if(next.begin(), next.end(), is);
    if (at == next.end()) return;
  }
  settle(chunk, *at);
  next.erase(next.begin(), std::next(at));
}

void table_memory::found(std::span<const place_found> sources) {
  for (auto& [chunk, next] : next_) settle_found(chunk, sources[chunk], next);
  std::erase_if(next_, [](const auto& entry) { return entry.second.empty(); });
  reset();
  for (std::size_t chunk = 0; chunk < places_.size(); ++chunk) {
    if (!sources[chunk].is_current) continue;
    const auto& place = places_[chunk];
    if (sources[chunk].version_buffer == policies::no_version_buffer)
      sources_[chunk].window = {};
    const std::span values(at(chunk, sources[chunk].version_buffer), place.elements);
    const auto* whole = array_of(chunk, sources[chunk].version_buffer);
    array_ = stretches_.empty() || whole == array_ ? whole : nullptr;
    if (!stretches_.empty()) {
      auto& last = stretches_.back().values;
      const bool is_next = stretches_.back().first + last.size() == place.first;
      if (is_next && last.data() + last.size() == values.data()) {
        last = {last.data(), last.size() + values.size()};
        continue;
      }
    }
    stretches_.push_back({place.first, values});
  }
}

std::uint64_t table_memory::gather(std::span<float> out) const {
  std::uint64_t bytes = 0;
  for (const auto& stretch : stretches_) {
    std::memcpy(out.data() + stretch.first, stretch.values.data(), stretch.values.size_bytes());
    bytes += stretch.values.size_bytes();
  }
  return bytes;
}

std::uint64_t table_memory::copy_ranges(std::span<const runtime::element_range> ranges,
                                        float* out) const {
  auto* to = out;
  auto stretch = stretches_.begin();
  for (const auto& range : ranges) {
    for (auto next = range.first; next < range.last;) {
      while (stretch->first + stretch->values.size() <= next) ++stretch;
      const auto last = std::min(range.last, stretch->first + stretch->values.size());
      std::memcpy(to, stretch->values.data() + (next - stretch->first),
                  (last - next) * sizeof(float));
      to += last - next;
      next = last;
    }
  }
  return static_cast<std::uint64_t>(to - out) * sizeof(float);
}

std::uint64_t table_memory::copy_mapped(std::span<const place_found> sources,
                                        float* out) const {
  std::uint64_t bytes = 0;
  for (std::size_t chunk = 0; chunk < places_.size(); ++chunk) {
    if (sources[chunk].version_buffer == policies::no_version_buffer) continue;
    const auto& place = places_[chunk];
    const auto size = place.elements * sizeof(float);
    std::memcpy(out + place.first, at(chunk, sources[chunk].version_buffer), size);
    bytes += size;
  }
  return bytes;
}

bool table_memory::reads(std::uint32_t shard, std::uint32_t moves) const {
  const auto is = [&](const chunk_source& source) {
    return source.window && source.shard == shard && source.moves == moves;
  };
  return std::any_of(sources_.begin(), sources_.end(), is) ||
         std::any_of(next_.begin(), next_.end(), [&](const auto& entry) {
           return std::any_of(entry.second.begin(), entry.second.end(),
                              [&](const next_source& next) { return is(next.source); });
         });
}

}  // namespace tidegate::actors
