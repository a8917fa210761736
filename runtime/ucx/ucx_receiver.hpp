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
#include "runtime/ucx/ucx_worker.hpp"

namespace tidegate::runtime {

class ucx_receiver {
 public:
  ucx_receiver(ucx_worker& worker, frame_delivery& delivery)
      : worker_(worker), delivery_(delivery) {
    arriving_.reserve(bundle_frames_max);
  }
  ucx_receiver(const ucx_receiver&) = delete;
  ucx_receiver& operator=(const ucx_receiver&) = delete;

  // From now on frames are received. Errors: unavailable.
  status open();

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
  };

  static ucs_status_t on_frame(void* self, const void* header, std::size_t header_length,
                               void* data, std::size_t length,
                               const ucp_am_recv_param_t* param);
  static ucs_status_t on_bundle(void* self, const void* headers, std::size_t headers_length,
                                void* data, std::size_t length,
                                const ucp_am_recv_param_t* param);
  ucs_status_t fetch(const frame_header& header, void* data, std::size_t length);
  void finish(receive_slot& slot, ucs_status_t code);
  void receive_bundle(std::span<const std::byte> payload);

  ucx_worker& worker_;
  frame_delivery& delivery_;
  slot_pool<receive_slot, ucx_receiver> receives_{this};
  std::vector<frame_header> arriving_;  // of the bundle that is being received
  std::vector<frame_header> lost_;      // told in progress()
};

}  // namespace tidegate::runtime
