#include "runtime/ucx/ucx_sender.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/ucx/ucx_error.hpp"

namespace tidegate::runtime {

namespace {

// Above it a payload is announced and then received where it belongs; up to it the round trip
// costs more than the copy.
constexpr std::size_t eager_bytes_max = 8192;

}  // namespace

void ucx_sender::post(peer_id peer, const frame_header& header,
                      std::span<const std::byte> payload, send_token token) {
  TIDEGATE_ASSERT(header.payload_bytes == payload.size(), "the header tells the payload");
  const auto endpoint = connections_.endpoint(peer);
  auto& slot = sends_.take();
  slot.to = peer;
  slot.token = token;
  const auto encoded = encode(header);
  std::copy(encoded.begin(), encoded.end(), slot.wire.begin());
  if (endpoint == nullptr) return finish_send(slot, UCS_ERR_CONNECTION_RESET);

  const bool announced = payload.size() > eager_bytes_max;
  if (announced) write_origin({.worker = worker_.number(), .connection = peer}, slot.wire);
  const auto param = completion<&ucx_sender::finish_send>::send_param(
      slot,
      announced ? UCP_AM_SEND_FLAG_RNDV | UCP_AM_SEND_FLAG_REPLY : UCP_AM_SEND_FLAG_EAGER);
  if (!payload.empty()) hearing_.use(peer);
  ++counters_.messages_sent;
  ++counters_.frames_sent;
  counters_.payload_bytes_sent += payload.size();
  const auto request =
      ucp_am_send_nbx(endpoint, announced ? announced_am_id : frame_am_id, slot.wire.data(),
                      announced ? announcement_bytes : frame_header_bytes, payload.data(),
                      payload.size(), &param);
  if (UCS_PTR_IS_PTR(request)) return;  // its completion frees it
  finish_send(slot, UCS_PTR_RAW_STATUS(request));
}

// Eager whatever the size: UCX 1.13.1 announces payloads from many places correctly, but then
// copies them out in pieces of UCX_TCP_TX_SEG_SIZE, with a system call for each, and is slower
// than one frame at a time (docs/decisions/0003-between-hosts.md).
void ucx_sender::post_bundle(peer_id peer, std::span<const outgoing> frames) {
  TIDEGATE_ASSERT(!frames.empty() && frames.size() <= worker_.bundle_frames_most(), "a bundle");
  const auto endpoint = connections_.endpoint(peer);
  auto& slot = bundles_.take();
  slot.to = peer;
  slot.frames = frames.size();
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto& message = frames[i];
    TIDEGATE_ASSERT(
        message.header.payload_bytes == message.payload.size() && !message.payload.empty(),
        "the header tells the payload");
    slot.headers[i] = encode(message.header);
    slot.payloads[i] = {const_cast<std::byte*>(message.payload.data()), message.payload.size()};
    slot.tokens[i] = message.token;
    bytes += message.payload.size();
  }
  TIDEGATE_ASSERT(bytes <= bundle_payload_bytes_max, "a bundle");
  if (endpoint == nullptr) return finish_bundle(slot, UCS_ERR_CONNECTION_RESET);

  auto param = completion<&ucx_sender::finish_bundle>::send_param(slot, UCP_AM_SEND_FLAG_EAGER);
  param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
  param.datatype = UCP_DATATYPE_IOV;
  hearing_.use(peer);
  ++counters_.messages_sent;
  counters_.frames_sent += frames.size();
  counters_.payload_bytes_sent += bytes;
  const auto request = ucp_am_send_nbx(endpoint, bundle_am_id, slot.headers.data(),
                                       frames.size() * frame_header_bytes, slot.payloads.data(),
                                       frames.size(), &param);
  if (UCS_PTR_IS_PTR(request)) return;  // its completion frees it
  finish_bundle(slot, UCS_PTR_RAW_STATUS(request));
}

void ucx_sender::finish_send(send_slot& slot, ucs_status_t code) {
  sends_.give_back(slot);
  if (slot.token != 0) sent_.push_back({slot.token, code});
  if (code != UCS_OK) connections_.lose(slot.to, code);
}

void ucx_sender::finish_bundle(bundle_slot& slot, ucs_status_t code) {
  bundles_.give_back(slot);
  for (const auto token : std::span(slot.tokens).first(slot.frames))
    if (token != 0) sent_.push_back({token, code});
  if (code != UCS_OK) connections_.lose(slot.to, code);
}

unsigned ucx_sender::tell() {
  std::swap(sent_, telling_);
  const auto count = static_cast<unsigned>(telling_.size());
  for (auto& sent : telling_)
    delivery_.sink().on_sent(
        sent.token, sent.code == UCS_OK ? status() : ucx_error("sending a frame", sent.code));
  telling_.clear();
  return count;
}

}  // namespace tidegate::runtime
