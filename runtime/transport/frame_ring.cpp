#include "runtime/transport/frame_ring.hpp"

#include <bit>
#include <cstring>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime {

namespace {

constexpr std::size_t written_at = 0;
constexpr std::size_t wants_room_at = 64;
constexpr std::size_t head_bytes = 8;
constexpr auto retired = ~std::uint64_t{0};

using counter = std::atomic<std::uint64_t>;
using flag = std::atomic<std::uint32_t>;
static_assert(counter::is_always_lock_free && sizeof(counter) == 8, "it lies in shared memory");
static_assert(flag::is_always_lock_free && sizeof(flag) == 4, "likewise");

struct record_head {
  std::uint32_t kind = 0;
  std::uint32_t body_bytes = 0;
};
static_assert(sizeof(record_head) == head_bytes);

constexpr std::size_t whole(std::size_t body_bytes) noexcept {
  return (head_bytes + body_bytes + 7) / 8 * 8;
}

}  // namespace

ring_writer::ring_writer(std::span<std::byte> memory) noexcept
    : written_(reinterpret_cast<counter*>(memory.data() + written_at)),
      wants_room_(reinterpret_cast<flag*>(memory.data() + wants_room_at)),
      records_(memory.data() + ring_head_bytes),
      capacity_(memory.size() - ring_head_bytes) {
  TIDEGATE_ASSERT(std::has_single_bit(capacity_) && capacity_ >= 1024, "a ring's capacity");
}

std::byte* ring_writer::begin(record_kind kind, std::size_t body_bytes,
                              std::uint64_t read) noexcept {
  TIDEGATE_ASSERT(body_bytes <= body_bytes_max(), "a record fits");
  if (is_news(read)) read_ = read;
  const auto bytes = whole(body_bytes);
  const auto at = position_ & (capacity_ - 1);
  const auto left = capacity_ - at;
  const auto pad = bytes > left ? left : 0;
  if (position_ - read_ + pad + bytes > capacity_) return nullptr;
  if (pad > 0) {
    const record_head filler{static_cast<std::uint32_t>(record_kind::pad),
                             static_cast<std::uint32_t>(pad - head_bytes)};
    std::memcpy(records_ + at, &filler, head_bytes);
  }
  auto* record = records_ + (pad > 0 ? 0 : at);
  const record_head head{static_cast<std::uint32_t>(kind),
                         static_cast<std::uint32_t>(body_bytes)};
  std::memcpy(record, &head, head_bytes);
  position_ += pad + bytes;
  return record + head_bytes;
}

void ring_writer::publish() noexcept {
  written_->store(position_, std::memory_order_release);
}

void ring_writer::retire() noexcept {
  written_->store(retired, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // before anything is written elsewhere
}

void ring_writer::want_room(bool wanted) noexcept {
  wants_room_->store(wanted ? 1 : 0, std::memory_order_relaxed);
}

ring_reader::ring_reader(std::span<const std::byte> memory) noexcept
    : written_(reinterpret_cast<const counter*>(memory.data() + written_at)),
      wants_room_(reinterpret_cast<const flag*>(memory.data() + wants_room_at)),
      records_(memory.data() + ring_head_bytes),
      capacity_(memory.size() - ring_head_bytes) {
  TIDEGATE_ASSERT(std::has_single_bit(capacity_) && capacity_ >= 1024, "a ring's capacity");
}

ring_reader::found ring_reader::next(ring_record& record) noexcept {
  const auto written = written_->load(std::memory_order_acquire);
  while (written != position_) {
    const auto there = written - position_;  // of one that went back: more than fits
    const auto at = position_ & (capacity_ - 1);
    record_head head;
    if (there > capacity_ || there % 8 != 0) return found::garbage;
    std::memcpy(&head, records_ + at, head_bytes);
    const auto bytes = whole(head.body_bytes);
    if (bytes > there || bytes > capacity_ - at) return found::garbage;
    record.kind = static_cast<record_kind>(head.kind);
    record.body = {records_ + at + head_bytes, head.body_bytes};
    if (record.kind != record_kind::pad) return found::record;
    take(record);
  }
  return found::nothing;
}

void ring_reader::take(const ring_record& record) noexcept {
  position_ += whole(record.body.size());
}

bool ring_reader::is_retired() const noexcept {
  std::atomic_thread_fence(std::memory_order_acquire);
  return written_->load(std::memory_order_relaxed) == retired;
}

bool ring_reader::writer_wants_room() const noexcept {
  return wants_room_->load(std::memory_order_relaxed) != 0;
}

}  // namespace tidegate::runtime
