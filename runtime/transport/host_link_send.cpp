#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/transport/host_link_impl.hpp"

namespace tidegate::runtime {

namespace {

// Goes along with its header: up to here finding out where it lies costs more than a copy.
constexpr std::size_t short_bytes_max = 8192;
// Pieces of the rest: the reader takes one while the next is written.
constexpr std::size_t piece_bytes_max = 16'000;

bool is_urgent(const frame_header& header) {
  const bool acknowledges =
      header.kind == frame_kind::push_ack || header.kind == frame_kind::ring_ack;
  return !acknowledges || header.code != 0 || header.chunk == whole_job;
}

std::span<const std::byte> bytes_of(const segment_memory::name& name) {
  return std::as_bytes(std::span(&name, 1));
}

}  // namespace

void host_link::post(peer_id peer, const frame_header& header,
                     std::span<const std::byte> payload, send_token token) {
  if (!is_ring(peer)) return elsewhere_->post(peer >> 1U, header, payload, token);
  ++own_.messages_sent;
  auto* out = out_of(peer);
  send(out, {header, payload, token});
  if (out != nullptr) wake(*out, is_urgent(header) || !out->frames.empty());
}

void host_link::post_bundle(peer_id peer, std::span<const outgoing> frames) {
  if (!is_ring(peer)) return elsewhere_->post_bundle(peer >> 1U, frames);
  TIDEGATE_ASSERT(!frames.empty(), "a bundle");
  ++own_.messages_sent;
  auto* out = out_of(peer);
  for (const auto& frame : frames) send(out, frame);
  if (out != nullptr) wake(*out, true);
}

void host_link::send(ring_out* out, const outgoing& frame) {
  TIDEGATE_ASSERT(frame.header.payload_bytes == frame.payload.size(),
                  "the header tells the payload");
  ++own_.frames_sent;
  own_.payload_bytes_sent += frame.payload.size();
  if (out == nullptr) {
    if (frame.token != 0) failed_.push({frame.token, {errc::unavailable, "the peer is gone"}});
    return;
  }
  waiting entry{frame.header, frame.payload, frame.token};
  if (!out->frames.empty() || !put(*out, entry)) out->frames.push(entry);
  out->ring.publish();
}

// Once for each of its sleeps: the pipe of one that is stopped fills up otherwise.
void host_link::wake(ring_out& out, bool urgent) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const auto sleep = desk_view(out.desk.data()).asleep().load(std::memory_order_relaxed);
  const bool is_patient = (sleep & 1U) != 0;
  if (sleep == 0 || (is_patient && !urgent)) return;
  if (std::exchange(out.rung, sleep) == sleep) return;
  out.rope.pull({});
}

std::uint64_t host_link::read_of(const ring_out& out) const noexcept {
  if (!out.slot) return 0;
  return desk_view(out.desk.data()).read(*out.slot).load(std::memory_order_acquire);
}

std::byte* host_link::begin(ring_out& out, record_kind kind, const frame_header& header,
                            std::size_t more) {
  auto* body = out.ring.begin(kind, frame_header_bytes + more, read_of(out));
  if (body == nullptr) return nullptr;
  const auto wire = encode(header);
  std::memcpy(body, wire.data(), wire.size());
  return body + wire.size();
}

// All of it, or as much as there is room for.
bool host_link::put(ring_out& out, waiting& frame) {
  const auto bytes = frame.payload.size();
  if (bytes <= short_bytes_max) {
    auto* at = begin(out, record_kind::frame, frame.header, bytes);
    if (at == nullptr) return false;
    if (bytes > 0) std::memcpy(at, frame.payload.data(), bytes);
    if (frame.token != 0) out.tokens.push({frame.token, 0});
    return true;
  }
  const auto lies = frame.begun ? std::nullopt : memory_->find(frame.payload);
  if (!lies) return put_pieces(out, frame);
  const auto name = bytes_of(*lies);
  auto* at = begin(out, record_kind::lent, frame.header, name.size());
  if (at == nullptr) return false;
  std::memcpy(at, name.data(), name.size());
  out.tokens.push({frame.token, out.ring.position()});
  return true;
}

bool host_link::put_pieces(ring_out& out, waiting& frame) {
  if (!frame.begun && begin(out, record_kind::begin, frame.header, 0) == nullptr) return false;
  frame.begun = true;
  while (frame.gone < frame.payload.size()) {
    const auto piece = frame.payload.subspan(
        frame.gone, std::min(piece_bytes_max, frame.payload.size() - frame.gone));
    auto* at = out.ring.begin(record_kind::piece, piece.size(), read_of(out));
    if (at == nullptr) return false;
    std::memcpy(at, piece.data(), piece.size());
    out.ring.publish();
    frame.gone += piece.size();
  }
  if (frame.token != 0) out.tokens.push({frame.token, 0});
  return true;
}

// What waits for room, and the tokens of what has been read.
unsigned host_link::pump(ring_out& out) {
  if (out.frames.empty() && out.tokens.empty()) return 0;
  unsigned happened = 0;
  if (!out.frames.empty()) {
    const auto before = out.ring.position();
    while (!out.frames.empty() && put(out, out.frames.front())) out.frames.pop();
    if (out.ring.position() != before) {
      out.ring.publish();
      wake(out, true);
      ++happened;
    }
  }
  const auto read = read_of(out);
  while (!out.tokens.empty() && out.tokens.front().position <= read) {
    const auto token = out.tokens.front().token;
    out.tokens.pop();
    ++happened;
    if (token != 0) sink_->on_sent(token, {});
  }
  return happened;
}

}  // namespace tidegate::runtime
