// The memory of one table in a worker: its gradients, and the parameters of its last pull.
//
// Gradients lie in a shared segment, in two halves (policies/protocol/double_buffer.hpp), so
// that shards on this host sum straight out of it and others are sent from it. Parameters are
// read where shards of this host keep them, or arrive in memory of ours; chunks from several
// places are mapped side by side, so that the table is one array as long as their shards keep
// its version in one of the first version buffers (always, under bsp). Where that would take
// more mappings than the process has left (policies/placement/mappings.hpp), chunks are read in
// the windows of their shards, and the table is as many stretches as runs of neighbours. One
// thread at a time: the driver of the session's reactor.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "policies/model/kept_versions.hpp"
#include "policies/placement/mappings.hpp"
#include "policies/placement/placement.hpp"
#include "policies/worker/core.hpp"
#include "runtime/base/element_range.hpp"
#include "runtime/base/status.hpp"
#include "runtime/memory/arena.hpp"
#include "runtime/memory/window.hpp"
#include <tidegate/session.hpp>

namespace tidegate::actors {

class table_memory {
 public:
  // Errors: io_error (no memory).
  static runtime::expected<std::shared_ptr<table_memory>> make(
      runtime::arena& gradients, policies::mapping_budget& mappings,
      std::span<const policies::chunk_place> places);
  ~table_memory();
  table_memory(const table_memory&) = delete;
  table_memory& operator=(const table_memory&) = delete;

  std::uint64_t elements() const noexcept { return elements_; }
  // All elements, to be written before their push and left alone until it is applied.
  std::span<float> gradient(std::uint32_t half) const;
  runtime::shm_handle gradient_name() const { return gradients_.name(place_); }

  // The part of the table on a shard may be read at `name`; a shard that has moved so often, in
  // versions that are found from now on. Errors: those of window_map::open.
  runtime::status attach(const policies::table_part& part, const runtime::shm_handle& name,
                         std::uint32_t version_buffers, std::uint32_t moves,
                         runtime::window_map& windows);
  bool has_windows() const noexcept { return has_windows_; }
  // Where a chunk that is sent to us goes.
  std::span<std::byte> room_for(const policies::chunk_place& chunk);

  using place_found = policies::chunk_source;
  // One past pull, as found, per chunk.
  void found(std::span<const place_found> sources);
  // What was found is not read any more: stretches() is empty until the next found().
  void reset() noexcept {
    stretches_.clear();
    array_ = nullptr;
    ++number_;
  }
  // Whether anything that was found, or will be, is in windows of this shard.
  bool reads(std::uint32_t shard, std::uint32_t moves) const;
  // Where a chunk that was found on the host lies.
  const float* at(std::size_t chunk, std::uint32_t version_buffer) const;
  // Ascending, as few as there are; valid until the next found().
  std::span<const stretch> stretches() const noexcept { return stretches_; }
  // Returns where the table begins if all that was found lies in one array of it, which can be
  // read from end to end, though it may say nothing between the stretches; else null.
  const float* array() const noexcept { return array_; }
  // Returns another number after each found() and reset().
  std::uint64_t number() const noexcept { return number_; }
  // All of them into `out`, which has room for the table; returns the bytes copied.
  std::uint64_t gather(std::span<float> out) const;
  // The elements of these ranges, which were found, into `out`, one after the other; returns
  // the bytes copied.
  std::uint64_t copy_ranges(std::span<const runtime::element_range> ranges, float* out) const;
  // The chunks that were found in windows into the table that begins at `out`; returns the
  // bytes copied.
  std::uint64_t copy_mapped(std::span<const place_found> sources, float* out) const;

 private:
  table_memory(runtime::arena& gradients, std::span<const policies::chunk_place> places,
               bool one_array);
  // Versions of a bsp job take one version buffer more in turn than are kept; in a room of each
  // version buffer the chunks of several shards lie side by side.
  static constexpr std::size_t rooms = policies::versions_kept_max + 1;
  static_assert(rooms == policies::mapped_versions);
  struct chunk_source {
    runtime::window window;    // empty: arrives here
    std::uint64_t offset = 0;  // of the chunk within the window
    std::uint32_t shard = 0;
    std::uint32_t moves = 0;
    bool alone = false;  // the window has all of the table
    // These version buffers are mapped at the chunk's place in their rooms, too.
    std::array<bool, rooms> mapped{};
  };

  // Where a shard that has moved will be read: nothing of it has been found yet.
  struct next_source {
    chunk_source source;
    const runtime::window_map* windows = nullptr;
    runtime::segment_name segment;
    std::uint32_t version_buffers = 0;
    std::uint64_t copy_bytes = 0;
    std::uint64_t begin = 0;  // of the chunk within a version buffer of the segment
  };

  const float* array_of(std::size_t chunk, std::uint32_t version_buffer) const;
  bool make_room(std::size_t index);
  using next_sources = std::vector<next_source>;  // of one chunk, in the order of moves

  void settle(std::size_t chunk, const next_source& next);
  void settle_found(std::size_t chunk, const place_found& found, next_sources& next);
  void clear_room(std::size_t chunk);

  runtime::arena& gradients_;
  bool one_array_;  // chunks of several shards are mapped side by side
  runtime::arena::place place_;
  std::vector<policies::chunk_place> places_;
  std::vector<chunk_source> sources_;  // by chunk, as last found
  // Likewise, of those that have moved, perhaps again before the pull that the process between
  // has answered came to its end.
  std::map<std::size_t, next_sources> next_;
  std::uint64_t elements_ = 0;
  bool has_windows_ = false;
  std::array<std::byte*, rooms> rooms_{};  // of the whole table; made when needed
  std::vector<stretch> stretches_;
  const float* array_ = nullptr;
  std::uint64_t number_ = 1;
};

}  // namespace tidegate::actors
