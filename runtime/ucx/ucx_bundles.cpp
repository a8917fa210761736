#include <cstring>

#include "runtime/base/assert.hpp"
#include "runtime/ucx/ucx_link_impl.hpp"

namespace tidegate::runtime {

// Eager whatever the size: UCX 1.13.1 announces payloads from many places correctly, but then
// copies them out in pieces of UCX_TCP_TX_SEG_SIZE, with a system call for each, and is slower
// than one frame at a time (docs/decisions/0003-between-hosts.md).
void ucx_link::post_bundle(peer_id peer, std::span<const outgoing> frames) {
  TIDEGATE_ASSERT(peer < peers_.size(), "a peer of this link");
  TIDEGATE_ASSERT(!frames.empty() && frames.size() <= bundle_frames_most_, "a bundle");
  auto& to = peers_[peer];
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
  if (to.lost) return finish_bundle(slot, UCS_ERR_CONNECTION_RESET);

  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                       UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_DATATYPE;
  param.flags = UCP_AM_SEND_FLAG_EAGER;
  param.datatype = UCP_DATATYPE_IOV;
  param.cb.send = &ucx_link::on_bundle_done;
  param.user_data = &slot;
  use(to);
  ++counters_.messages_sent;
  counters_.frames_sent += frames.size();
  counters_.payload_bytes_sent += bytes;
  const auto request = ucp_am_send_nbx(to.endpoint, bundle_am_id, slot.headers.data(),
                                       frames.size() * frame_header_bytes, slot.payloads.data(),
                                       frames.size(), &param);
  if (UCS_PTR_IS_PTR(request)) return;  // on_bundle_done frees it
  finish_bundle(slot, UCS_PTR_RAW_STATUS(request));
}

void ucx_link::on_bundle_done(void* request, ucs_status_t code, void* slot) {
  auto& done = *static_cast<bundle_slot*>(slot);
  done.owner->finish_bundle(done, code);
  ucp_request_free(request);
}

void ucx_link::finish_bundle(bundle_slot& slot, ucs_status_t code) {
  bundles_.give_back(slot);
  for (const auto token : std::span(slot.tokens).first(slot.frames))
    if (token != 0) sent_.push_back({token, code});
  if (code != UCS_OK) lose(peers_[slot.to], code);
}

ucs_status_t ucx_link::on_bundle(void* self, const void* headers, std::size_t headers_length,
                                 void* data, std::size_t length,
                                 const ucp_am_recv_param_t* param) {
  auto& link = *static_cast<ucx_link*>(self);
  const auto wire = std::span(static_cast<const std::byte*>(headers), headers_length);
  const bool announced = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  const auto decoded = announced ? status(errc::corrupt, "a bundle that is announced")
                                 : decode_bundle(wire, length, link.arriving_);
  if (decoded.ok())
    link.receive_bundle({static_cast<const std::byte*>(data), length});
  else
    link.bad_frame(decoded);
  return UCS_OK;
}

void ucx_link::receive_bundle(std::span<const std::byte> payload) {
  for (const auto& header : arriving_) {
    const auto part = payload.first(header.payload_bytes);
    payload = payload.subspan(header.payload_bytes);
    buffer place = sink_->place(header);
    if (!place) {
      ++counters_.frames_refused;
      continue;
    }
    TIDEGATE_ASSERT(place.size() == part.size(), "a place fits its payload");
    std::memcpy(place.data(), part.data(), part.size());
    ++counters_.frames_received;
    counters_.payload_bytes_received += part.size();
    counters_.payload_bytes_copied += part.size();
    sink_->on_frame(header, std::move(place));
  }
}

}  // namespace tidegate::runtime
