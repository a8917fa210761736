#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/ucx/ucx_link_impl.hpp"

namespace tidegate::runtime {

namespace {

// Above it a payload is announced and then received where it belongs; up to it the round trip
// costs more than the copy.
constexpr std::size_t eager_bytes_max = 8192;

}  // namespace

void ucx_link::post(peer_id peer, const frame_header& header,
                    std::span<const std::byte> payload, send_token token) {
  TIDEGATE_ASSERT(peer < peers_.size(), "a peer of this link");
  TIDEGATE_ASSERT(header.payload_bytes == payload.size(), "the header tells the payload");
  auto& to = peers_[peer];
  auto& slot = sends_.take();
  slot.to = peer;
  slot.token = token;
  slot.header = encode(header);
  if (to.lost) return finish_send(slot, UCS_ERR_CONNECTION_RESET);

  ucp_request_param_t param{};
  param.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  param.flags =
      payload.size() > eager_bytes_max ? UCP_AM_SEND_FLAG_RNDV : UCP_AM_SEND_FLAG_EAGER;
  param.cb.send = &ucx_link::on_send_done;
  param.user_data = &slot;
  if (!payload.empty()) use(to);
  ++counters_.messages_sent;
  ++counters_.frames_sent;
  counters_.payload_bytes_sent += payload.size();
  const auto request =
      ucp_am_send_nbx(to.endpoint, frame_am_id, slot.header.data(), slot.header.size(),
                      payload.data(), payload.size(), &param);
  if (UCS_PTR_IS_PTR(request)) return;  // on_send_done frees it
  finish_send(slot, UCS_PTR_RAW_STATUS(request));
}

ucs_status_t ucx_link::on_message(void* self, const void* header, std::size_t header_length,
                                  void* data, std::size_t length,
                                  const ucp_am_recv_param_t* param) {
  auto& link = *static_cast<ucx_link*>(self);
  const auto wire = std::span(static_cast<const std::byte*>(header), header_length);
  const auto decoded = decode(wire, length);
  if (!decoded) {
    link.bad_frame(decoded.error());
    return UCS_OK;  // drops a rendezvous, too; its sender completes
  }
  const bool announced = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  return link.receive(*decoded, data, length, announced);
}

void ucx_link::bad_frame(const status& why) {
  ++counters_.frames_bad;
  sink_->on_bad_frame(why);
}

ucs_status_t ucx_link::receive(const frame_header& header, void* data, std::size_t length,
                               bool announced) {
  if (length == 0) {
    ++counters_.frames_received;
    sink_->on_frame(header, {});
    return UCS_OK;
  }
  buffer place = sink_->place(header);
  if (!place) {
    ++counters_.frames_refused;
    return UCS_OK;
  }
  TIDEGATE_ASSERT(place.size() == length, "a place fits its payload");
  auto& slot = receives_.take();
  slot.header = header;
  slot.place = std::move(place);
  if (!announced) {
    std::memcpy(slot.place.data(), data, length);
    counters_.payload_bytes_copied += length;
    finish_receive(slot, UCS_OK);
    return UCS_OK;
  }
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.recv_am = &ucx_link::on_receive_done;
  param.user_data = &slot;
  const auto request = ucp_am_recv_data_nbx(worker_, data, slot.place.data(), length, &param);
  if (!UCS_PTR_IS_PTR(request)) finish_receive(slot, UCS_PTR_RAW_STATUS(request));
  return UCS_INPROGRESS;
}

void ucx_link::finish_receive(receive_slot& slot, ucs_status_t code) {
  buffer place = std::move(slot.place);
  const auto header = slot.header;
  receives_.give_back(slot);
  if (code != UCS_OK) return frames_lost_.push_back(header);  // told in progress()
  ++counters_.frames_received;
  counters_.payload_bytes_received += place.size();
  sink_->on_frame(header, std::move(place));
}

void ucx_link::finish_send(send_slot& slot, ucs_status_t code) {
  sends_.give_back(slot);
  if (slot.token != 0) sent_.push_back({slot.token, code});
  if (code != UCS_OK) lose(peers_[slot.to], code);
}

void ucx_link::on_send_done(void* request, ucs_status_t code, void* slot) {
  auto& done = *static_cast<send_slot*>(slot);
  done.owner->finish_send(done, code);
  ucp_request_free(request);
}

void ucx_link::on_receive_done(void* request, ucs_status_t code, std::size_t, void* slot) {
  auto& done = *static_cast<receive_slot*>(slot);
  done.owner->finish_receive(done, code);
  ucp_request_free(request);
}

}  // namespace tidegate::runtime
