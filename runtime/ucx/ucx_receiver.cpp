#include "runtime/ucx/ucx_receiver.hpp"

#include <algorithm>
#include <utility>

namespace tidegate::runtime {

status ucx_receiver::open() {
  if (auto set = worker_.handle(frame_am_id, &ucx_receiver::on_frame, this); !set.ok())
    return set;
  if (auto set = worker_.handle(announced_am_id, &ucx_receiver::on_announced, this); !set.ok())
    return set;
  return worker_.handle(bundle_am_id, &ucx_receiver::on_bundle, this);
}

ucs_status_t ucx_receiver::on_frame(void* self, const void* header, std::size_t header_length,
                                    void* data, std::size_t length,
                                    const ucp_am_recv_param_t* param) {
  auto& receiver = *static_cast<ucx_receiver*>(self);
  const auto wire = std::span(static_cast<const std::byte*>(header), header_length);
  const auto decoded = decode(wire, length);
  if (!decoded) {
    receiver.delivery_.bad_frame(decoded.error());
    return UCS_OK;  // drops a rendezvous, too; its sender completes
  }
  const bool announced = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  if (announced)
    receiver.delivery_.bad_frame({errc::corrupt, "an announced frame without an origin"});
  else
    receiver.delivery_.take(*decoded, {static_cast<const std::byte*>(data), length});
  return UCS_OK;
}

ucs_status_t ucx_receiver::on_announced(void* self, const void* header,
                                        std::size_t header_length, void* data,
                                        std::size_t length, const ucp_am_recv_param_t* param) {
  auto& receiver = *static_cast<ucx_receiver*>(self);
  const auto wire = std::span(static_cast<const std::byte*>(header), header_length);
  const bool announced = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0 &&
                         (param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) != 0;
  if (!announced || header_length != announcement_bytes || length == 0) {
    receiver.delivery_.bad_frame({errc::corrupt, "an announcement that announces nothing"});
    return UCS_OK;
  }
  const auto decoded = decode(wire.first(frame_header_bytes), length);
  if (!decoded) {
    receiver.delivery_.bad_frame(decoded.error());
    return UCS_OK;
  }
  return receiver.fetch(*decoded, read_origin(wire), data, length, param->reply_ep);
}

// The payload is not here yet; `data` is UCX's name for it.
ucs_status_t ucx_receiver::fetch(const frame_header& header, const frame_origin& origin,
                                 void* data, std::size_t length, ucp_ep_h over) {
  auto place = delivery_.place(header);
  if (!place) return UCS_OK;
  auto& slot = receives_.take();
  slot.header = header;
  slot.place = std::move(place);
  slot.origin = origin;
  slot.over = over;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.recv_am = &completion<&ucx_receiver::finish>::of_receive;
  param.user_data = &slot;
  const auto request =
      ucp_am_recv_data_nbx(worker_.get(), data, slot.place.data(), length, &param);
  if (!UCS_PTR_IS_PTR(request)) finish(slot, UCS_PTR_RAW_STATUS(request));
  return UCS_INPROGRESS;
}

void ucx_receiver::finish(receive_slot& slot, ucs_status_t code) {
  auto place = std::move(slot.place);
  const auto header = slot.header;
  slot.over = nullptr;
  receives_.give_back(slot);
  if (code != UCS_OK) return lost_.push_back(header);  // told in progress()
  delivery_.deliver(header, std::move(place));
}

void ucx_receiver::give_up(const frame_origin& origin) {
  std::vector<ucp_ep_h> over;
  for (const auto& slot : receives_.all())
    if (slot.over != nullptr && slot.origin == origin &&
        std::find(over.begin(), over.end(), slot.over) == over.end())
      over.push_back(slot.over);
  for (auto* const endpoint : over) connections_.end(endpoint);
}

ucs_status_t ucx_receiver::on_bundle(void* self, const void* headers,
                                     std::size_t headers_length, void* data, std::size_t length,
                                     const ucp_am_recv_param_t* param) {
  auto& receiver = *static_cast<ucx_receiver*>(self);
  const auto wire = std::span(static_cast<const std::byte*>(headers), headers_length);
  const bool announced = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  const auto decoded = announced ? status(errc::corrupt, "a bundle that is announced")
                                 : decode_bundle(wire, length, receiver.arriving_);
  if (decoded.ok())
    receiver.receive_bundle({static_cast<const std::byte*>(data), length});
  else
    receiver.delivery_.bad_frame(decoded);
  return UCS_OK;
}

void ucx_receiver::receive_bundle(std::span<const std::byte> payload) {
  for (const auto& header : arriving_) {
    delivery_.take(header, payload.first(header.payload_bytes));
    payload = payload.subspan(header.payload_bytes);
  }
}

unsigned ucx_receiver::tell_lost() {
  unsigned happened = 0;
  while (!lost_.empty()) {
    const auto header = lost_.back();
    lost_.pop_back();
    ++happened;
    delivery_.sink().on_frame_lost(header);
  }
  return happened;
}

void ucx_receiver::clear() {
  lost_.clear();
  for (auto& slot : receives_.all()) slot.place = {};
}

}  // namespace tidegate::runtime
