// Frames on their way out over UCX, one by one and in bundles.
//
// Owns what UCX reads until a send is complete (headers, lists of payloads), and the tokens of
// sends that are complete and not told yet. One reactor thread; UCX completes sends from within
// its turns. Hot path; once warm, nothing allocates.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <ucp/api/ucp.h>

#include "runtime/transport/frame_delivery.hpp"
#include "runtime/ucx/slot_pool.hpp"
#include "runtime/ucx/ucx_announcement.hpp"
#include "runtime/ucx/ucx_connections.hpp"
#include "runtime/ucx/ucx_peer_hearing.hpp"
#include "runtime/ucx/ucx_worker.hpp"

namespace tidegate::runtime {

class ucx_sender {
 public:
  ucx_sender(const ucx_worker& worker, ucx_connections& connections, ucx_peer_hearing& hearing,
             frame_delivery& delivery, link_counters& counters)
      : worker_(worker),
        connections_(connections),
        hearing_(hearing),
        delivery_(delivery),
        counters_(counters) {}
  ucx_sender(const ucx_sender&) = delete;
  ucx_sender& operator=(const ucx_sender&) = delete;

  // link::post() and link::post_bundle().
  void post(peer_id peer, const frame_header& header, std::span<const std::byte> payload,
            send_token token);
  void post_bundle(peer_id peer, std::span<const outgoing> frames);

  // Tells the tokens of complete sends, but for those that its callbacks add. Returns how many.
  unsigned tell_sent() { return sent_.empty() ? 0 : tell(); }
  bool has_sent() const noexcept { return !sent_.empty(); }
  // Returns how many messages UCX has not completed.
  std::size_t under_way() const noexcept { return sends_.out() + bundles_.out(); }
  // Forgets what is not told yet.
  void clear() noexcept { sent_.clear(); }

 private:
  // One send under way. Slots are kept and reused: the header must live until completion.
  struct send_slot {
    ucx_sender* owner = nullptr;
    peer_id to = 0;
    send_token token = 0;
    announcement_wire wire{};
  };
  // One bundle under way. UCX reads all of it until completion.
  struct bundle_slot {
    ucx_sender* owner = nullptr;
    peer_id to = 0;
    std::size_t frames = 0;
    std::array<frame_header_wire, bundle_frames_max> headers{};
    std::array<ucp_dt_iov_t, bundle_frames_max> payloads{};
    std::array<send_token, bundle_frames_max> tokens{};
  };
  struct outcome {
    send_token token;
    ucs_status_t code;
  };

  void finish_send(send_slot& slot, ucs_status_t code);
  void finish_bundle(bundle_slot& slot, ucs_status_t code);
  unsigned tell();

  const ucx_worker& worker_;
  ucx_connections& connections_;
  ucx_peer_hearing& hearing_;
  frame_delivery& delivery_;
  link_counters& counters_;
  slot_pool<send_slot, ucx_sender> sends_{this};
  slot_pool<bundle_slot, ucx_sender> bundles_{this};
  std::vector<outcome> sent_;  // told in progress()
  std::vector<outcome> telling_;
};

}  // namespace tidegate::runtime
