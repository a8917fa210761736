// A ring of records from one process to another, in memory that only its writer can write.
//
//   0 written u64 | 64 wants room u32 | 128 records
//
// A record is 8 bytes (kind u32, length of the body u32) and its body, padded to 8 bytes; none
// wraps around. `written` counts the bytes of all records ever published. How many of them have
// been read is told in the reader's memory: neither side writes to the other's, so that whoever
// is killed, at whatever instruction, leaves nothing half done in what others read: a record
// that was not published does not count. The reader trusts nothing that it finds.
//
// One writer, one reader, each one thread. Capacities are powers of two.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tidegate::runtime {

inline constexpr std::size_t ring_head_bytes = 128;
// Sizes of a ring between two links; a record of 16 KiB and its header fit. Small enough for
// many, and for the cache.
inline constexpr std::size_t ring_capacity = 64U << 10U;
inline constexpr std::size_t ring_bytes = ring_head_bytes + ring_capacity;

enum class record_kind : std::uint32_t {
  pad = 0,    // nothing, up to the end of the ring
  frame = 1,  // a header, and its payload, if it is short
  lent = 2,   // a header, and where its payload lies: a segment_memory::name
  begin = 3,  // a header, whose payload follows in pieces
  piece = 4,
};

// Of a ring that its maker maps; zeroed at first.
class ring_writer {
 public:
  ring_writer() = default;
  // ring_head_bytes + capacity bytes.
  explicit ring_writer(std::span<std::byte> memory) noexcept;

  // Longer ones may never find room.
  std::size_t body_bytes_max() const noexcept { return capacity_ / 4; }
  // Room for the body of one more record, null without that room. `read`: what the reader says
  // that it has read; what cannot be is taken for what it said before.
  std::byte* begin(record_kind kind, std::size_t body_bytes, std::uint64_t read) noexcept;
  // All records begun so far can be read from now on.
  void publish() noexcept;
  // The end of the last record begun: once so much is read, it is.
  std::uint64_t position() const noexcept { return position_; }
  // Whether this is news of what has been read, and can be.
  bool is_news(std::uint64_t read) const noexcept { return read > read_ && read <= position_; }
  // Nothing here is to be read any more, nor what was lent; is_retired() from now on.
  void retire() noexcept;
  // Asks the reader to say when it has read on. Look once more for room afterwards.
  void want_room(bool wanted) noexcept;

 private:
  std::atomic<std::uint64_t>* written_ = nullptr;
  std::atomic<std::uint32_t>* wants_room_ = nullptr;
  std::byte* records_ = nullptr;
  std::size_t capacity_ = 0;
  std::uint64_t position_ = 0;
  std::uint64_t read_ = 0;
};

struct ring_record {
  record_kind kind = record_kind::pad;
  std::span<const std::byte> body;  // the writer may change it while it is read
};

class ring_reader {
 public:
  enum class found : std::uint8_t { nothing, record, garbage };

  ring_reader() = default;
  // ring_head_bytes + capacity bytes.
  explicit ring_reader(std::span<const std::byte> memory) noexcept;

  bool is_empty() const noexcept {
    return written_->load(std::memory_order_acquire) == position_;
  }
  // The next record. After garbage there is no way to go on.
  found next(ring_record& record) noexcept;
  // Behind what next() found.
  void take(const ring_record& record) noexcept;
  std::uint64_t position() const noexcept { return position_; }
  bool writer_wants_room() const noexcept;
  // What was lent and has been copied before may have been written to meanwhile.
  bool is_retired() const noexcept;

 private:
  const std::atomic<std::uint64_t>* written_ = nullptr;
  const std::atomic<std::uint32_t>* wants_room_ = nullptr;
  const std::byte* records_ = nullptr;
  std::size_t capacity_ = 0;
  std::uint64_t position_ = 0;
};

}  // namespace tidegate::runtime
