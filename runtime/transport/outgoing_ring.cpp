#include "runtime/transport/outgoing_ring.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

namespace tidegate::runtime {

namespace {

// Goes along with its header: up to here finding out where it lies costs more than a copy.
constexpr std::size_t short_bytes_max = 8192;
// Pieces of the rest: the reader takes one while the next is written.
constexpr std::size_t piece_bytes_max = 16'000;

std::span<const std::byte> bytes_of(const segment_memory::name& name) {
  return std::as_bytes(std::span(&name, 1));
}

}  // namespace

status outgoing_ring::open(const host_place& to) {
  auto wakeup = wakeup_writer::open(to.pipe);
  if (!wakeup) return wakeup.error();
  auto page = segment::open(to.cursors);
  if (!page) return page.error();
  if (page->size() < cursor_page_view::bytes) return {errc::corrupt, "no such page of cursors"};
  auto memory = segment::create("tidegate-ring", ring_bytes, segment::pages::small);
  if (!memory) return memory.error();
  to_ = to;
  wakeup_ = std::move(*wakeup);
  cursors_ = std::move(*page);
  cursors_.hide();
  memory_ = std::move(*memory);
  ring_ = ring_writer({memory_.data(), ring_bytes});
  return {};
}

void outgoing_ring::greet(link_hello hello) {
  hello.ring = memory_.name();
  greeted_ = wakeup_.pull(hello);
}

void outgoing_ring::on_welcome(std::uint32_t slot) noexcept {
  if (slot_) return;
  slot_ = slot;
  memory_.hide();
}

void outgoing_ring::send(const outgoing& frame) {
  waiting entry{.header = frame.header, .payload = frame.payload, .token = frame.token};
  if (!frames_.empty() || !put(entry)) frames_.push(entry);
  ring_.publish();
}

// Once for each of its sleeps: the pipe of one that is stopped fills up otherwise.
void outgoing_ring::wake(bool urgent) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const auto sleep = cursor_page_view(cursors_.data()).asleep().load(std::memory_order_relaxed);
  const bool is_patient = (sleep & 1U) != 0;
  if (sleep == 0 || (is_patient && !urgent)) return;
  if (std::exchange(rung_, sleep) == sleep) return;
  wakeup_.pull({});
}

std::uint64_t outgoing_ring::read() const noexcept {
  if (!slot_) return 0;
  return cursor_page_view(cursors_.data()).read(*slot_).load(std::memory_order_acquire);
}

std::byte* outgoing_ring::begin(record_kind kind, const frame_header& header,
                                std::size_t more) {
  auto* body = ring_.begin(kind, frame_header_bytes + more, read());
  if (body == nullptr) return nullptr;
  const auto wire = encode(header);
  std::memcpy(body, wire.data(), wire.size());
  return body + wire.size();
}

// All of it, or as much as there is room for.
bool outgoing_ring::put(waiting& frame) {
  const auto bytes = frame.payload.size();
  if (bytes <= short_bytes_max) {
    auto* at = begin(record_kind::frame, frame.header, bytes);
    if (at == nullptr) return false;
    if (bytes > 0) std::memcpy(at, frame.payload.data(), bytes);
    if (frame.token != 0) tokens_.push({frame.token, 0});
    return true;
  }
  const auto lies = frame.begun ? std::nullopt : own_.find(frame.payload);
  if (!lies) return put_pieces(frame);
  const auto name = bytes_of(*lies);
  auto* at = begin(record_kind::lent, frame.header, name.size());
  if (at == nullptr) return false;
  std::memcpy(at, name.data(), name.size());
  tokens_.push({frame.token, ring_.position()});
  return true;
}

bool outgoing_ring::put_pieces(waiting& frame) {
  if (!frame.begun && begin(record_kind::begin, frame.header, 0) == nullptr) return false;
  frame.begun = true;
  while (frame.gone < frame.payload.size()) {
    const auto piece = frame.payload.subspan(
        frame.gone, std::min(piece_bytes_max, frame.payload.size() - frame.gone));
    auto* at = ring_.begin(record_kind::piece, piece.size(), read());
    if (at == nullptr) return false;
    std::memcpy(at, piece.data(), piece.size());
    ring_.publish();
    frame.gone += piece.size();
  }
  if (frame.token != 0) tokens_.push({frame.token, 0});
  return true;
}

unsigned outgoing_ring::go_on(frame_delivery& delivery) {
  unsigned happened = 0;
  if (!frames_.empty()) {
    const auto before = ring_.position();
    while (!frames_.empty() && put(frames_.front())) frames_.pop();
    if (ring_.position() != before) {
      ring_.publish();
      wake(true);
      ++happened;
    }
  }
  const auto position = read();
  while (!tokens_.empty() && tokens_.front().position <= position) {
    const auto token = tokens_.front().token;
    tokens_.pop();
    ++happened;
    if (token != 0) delivery.sink().on_sent(token, {});
  }
  return happened;
}

bool outgoing_ring::has_work() noexcept {
  const auto position = read();
  if (!frames_.empty() && ring_.is_news(position)) return true;
  return !tokens_.empty() && tokens_.front().position <= position;
}

bool outgoing_ring::is_flushed() const noexcept {
  return (ring_.position() == 0 && frames_.empty()) || (is_idle() && slot_);
}

void outgoing_ring::end(deferred_reports& reports, const status& why) {
  ring_.retire();
  for (; !tokens_.empty(); tokens_.pop()) reports.send_failed(tokens_.front().token, why);
  for (; !frames_.empty(); frames_.pop()) reports.send_failed(frames_.front().token, why);
}

void outgoing_ring::close(const link_hello& farewell) noexcept {
  if (!tokens_.empty()) ring_.retire();
  wakeup_.pull(farewell);
}

}  // namespace tidegate::runtime
