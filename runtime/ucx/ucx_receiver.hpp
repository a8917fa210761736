// Frames that arrive over UCX, one by one and in bundles: decoded, given a place, and delivered
// when their payload is there.
//
// Owns the frames whose payload is on its way (rendezvous), and those that are lost and not
// told yet. One reactor thread; UCX calls it from within its turns. Hot path; once warm,
// nothing allocates.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <ucp/api/ucp.h>

#include "runtime/base/status.hpp"
#include "runtime/memory/buffer.hpp"
#include "runtime/transport/frame_delivery.hpp"
#include "runtime/ucx/slot_pool.hpp"
#include "runtime/ucx/ucx_announcement.hpp"
#include "runtime/ucx/ucx_connections.hpp"
#include "runtime/ucx/ucx_worker.hpp"

namespace tidegate::runtime {

class ucx_receiver {
 public:
  ucx_receiver(ucx_worker& worker, ucx_connections& connections, frame_delivery& delivery)
      : worker_(worker), connections_(connections), delivery_(delivery) {
    arriving_.reserve(bundle_frames_max);
  }
  ucx_receiver(const ucx_receiver&) = delete;
  ucx_receiver& operator=(const ucx_receiver&) = delete;

  // From now on frames are received. Errors: unavailable.
  status open();

  // Its sender has given this connection up: ends what is being fetched from it. UCX then says
  // that it is lost, and writes to its place no more.
  void give_up(const frame_origin& origin);
  // Tells of frames that had a place and will not come, and returns how many.
  unsigned tell_lost();
  bool has_lost() const noexcept { return !lost_.empty(); }
  // Returns how many payloads are on their way.
  std::size_t under_way() const noexcept { return receives_.out(); }
  // Forgets what is not told yet and gives places back: nothing writes to them any more.
  void clear();

 private:
  // One rendezvous under way.
  struct receive_slot {
    ucx_receiver* owner = nullptr;
    frame_header header;
    buffer place;
    frame_origin origin;
    ucp_ep_h over = nullptr;  // the endpoint that it is fetched over; null: it is not under way
  };

  static ucs_status_t on_frame(void* self, const void* header, std::size_t header_length,
                               void* data, std::size_t length,
                               const ucp_am_recv_param_t* param);
  static ucs_status_t on_bundle(void* self, const void* headers, std::size_t headers_length,
                                void* data, std::size_t length,
                                const ucp_am_recv_param_t* param);
  static ucs_status_t on_announced(void* self, const void* header, std::size_t header_length,
                                   void* data, std::size_t length,
                                   const ucp_am_recv_param_t* param);
  ucs_status_t fetch(const frame_header& header, const frame_origin& origin, void* data,
                     std::size_t length, ucp_ep_h over);
  void finish(receive_slot& slot, ucs_status_t code);
  void receive_bundle(std::span<const std::byte> payload);

  ucx_worker& worker_;
  ucx_connections& connections_;
  frame_delivery& delivery_;
  slot_pool<receive_slot, ucx_receiver> receives_{this};
  std::vector<frame_header> arriving_;  // of the bundle that is being received
  std::vector<frame_header> lost_;      // told in progress()
};

}  // namespace tidegate::runtime
