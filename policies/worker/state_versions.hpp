// The versions of a worker's state in memory that outlives its process.
//
// Version c is the state at the beginning of the worker's clock c. A process that takes the
// place of a dead one resumes at a clock that the shards name, and finds the version of exactly
// that clock here, whole, wherever the process before was killed
// (docs/decisions/0021-worker-state.md has the argument).
//
// The memory: a head, then slots of equal size (state_layout.hpp). A version is written to a
// slot that holds nothing that may be needed, and its number, by which it counts, is stored
// last. Among versions of one clock the one with the largest number counts. Pure. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "policies/model/state_image.hpp"
#include "policies/model/state_layout.hpp"
#include "runtime/base/state_memory.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

// Where a worker begins in its memory. `none`: the worker had no state at that clock.
enum class state_found : std::uint8_t { none, whole, lost };

class state_versions {
 public:
  // `memory` outlives this, and has state_memory_bytes(version_bytes).
  state_versions(runtime::state_memory& memory, std::size_t version_bytes)
      : memory_(memory), version_bytes_(version_bytes) {}

  // Finds what the worker goes on with at this clock of this epoch of the run (from 1). To be
  // called once, before all that follow. Versions of an earlier epoch that are of other clocks
  // are dropped: the job has gone back, and comes to those clocks anew.
  state_found resume(std::uint32_t epoch, std::uint64_t clock);
  // Returns the bytes of the version that resume() has found `whole`; valid until the next
  // write().
  std::span<const std::byte> found() const;

  // Returns the clock of the newest version of an earlier clock, where the one of this clock is
  // lost because not every version was copied to another host; and its bytes, valid until the
  // next write().
  std::optional<std::uint64_t> older_clock() const;
  std::span<const std::byte> older() const;

  // Returns what the memory has, with this version, if it counts. The worker may write others
  // meanwhile.
  state_image image(std::uint64_t version) const;
  // Fills fresh memory. To be called before resume(). Errors: no_space, over_limit (it is not
  // of memory of this size).
  runtime::status restore(const state_image& image);

  std::size_t version_bytes() const noexcept { return version_bytes_; }
  // Makes sure that versions of `length` bytes have room. Errors: no_space.
  runtime::status reserve(std::size_t length);

  // Write the version of this clock: begin, any number of parts, of multiples of 8 bytes, whose
  // lengths come to `length`, end. The version counts from end_write() on. Room is reserved.
  void begin_write(std::uint64_t clock, std::size_t length);
  void write(std::span<const std::byte> part);
  void end_write();

 private:
  static constexpr std::uint64_t slots = state_slots;
  static constexpr std::uint64_t never = state_image::never;

  // The words of the head, and of a slot before its bytes. Words that may be ~0 are stored as
  // their complement, so that fresh memory says "never".
  enum class head_word : std::uint8_t {
    epoch,
    has_history = state_history_offset / sizeof(std::uint64_t),
    known_from,
    begun
  };
  enum class slot_word : std::uint8_t { number, clock, length, checksum };
  struct slot_head {
    std::uint64_t number = 0;  // 0: no version
    std::uint64_t clock = 0;
    std::uint64_t length = 0;
    std::uint64_t checksum = 0;
  };

  std::size_t offset_of(std::uint64_t slot) const {
    return state_head_bytes + slot * (state_slot_head_bytes + version_bytes_);
  }
  std::uint64_t word_at(std::size_t offset) const;
  std::uint64_t head(head_word word) const;
  void set_head(head_word word, std::uint64_t value);
  void store_slot(std::uint64_t slot, slot_word word, std::uint64_t value);
  slot_head head_of(std::uint64_t slot) const;
  std::span<const std::byte> bytes_of(std::uint64_t slot) const;
  bool is_whole(std::uint64_t slot) const;
  // Returns the slot of the version of this clock that counts, if there is a whole one.
  std::optional<std::uint64_t> find(std::uint64_t clock) const;
  // Returns true if another slot has a version of the same clock with a larger number.
  bool is_replaced(const slot_head& head) const;
  state_found judge(std::uint64_t clock) const;
  std::optional<std::uint64_t> find_before(std::uint64_t clock) const;
  void begin_epoch(std::uint32_t epoch, std::uint64_t clock, state_found found);
  std::uint64_t slot_to_write(std::uint64_t clock) const;

  runtime::state_memory& memory_;
  std::size_t version_bytes_;
  std::uint64_t resumed_ = 0;           // the clock of resume()
  std::optional<std::uint64_t> found_;  // slot
  std::optional<std::uint64_t> older_;  // likewise
  // The version being written:
  std::uint64_t slot_ = 0;
  slot_head writing_;
  std::uint64_t written_ = 0;  // bytes
};

}  // namespace tidegate::policies
