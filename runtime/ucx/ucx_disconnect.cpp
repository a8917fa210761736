// The end of the connection to a peer that has died.
//
// UCX 1.13.1 ends what is under way with a connection that is closed by force only where the
// transport has error handling of its own. Over shared memory requests are known by their
// address: they stay for ever, and so would an announcement that is read after its connection
// has gone. So what the peer left in our queue is taken out first; then nothing can refer to
// what is under way, and we end it ourselves.
#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/ucx/ucx_link_impl.hpp"

namespace tidegate::runtime {

namespace {

// Each look takes at least one message out of each queue, unless that is empty; queues of
// shared memory have 64 places, or as many as the user's UCX_POSIX_FIFO_SIZE and
// UCX_SYSV_FIFO_SIZE say.
constexpr unsigned looks_max = 4096;

}  // namespace

void ucx_link::disconnect(peer_id peer) {
  TIDEGATE_ASSERT(peer < peers_.size(), "a peer of this link");
  auto& dead = peers_[peer];
  dead.lost = true;
  std::erase_if(lost_, [&](const loss& one) { return one.peer == peer; });
  if (dead.endpoint && !std::exchange(dead.departs, true)) departing_.push_back({peer});
}

unsigned ucx_link::go_on_disconnecting(bool idle) {
  unsigned ended = 0;
  std::erase_if(departing_, [&](departing& one) {
    if (++one.looks < looks_max && !idle) return false;
    give_up(one.peer);
    ++ended;
    return true;
  });
  std::erase_if(closing_, [](void* request) {
    if (ucp_request_check_status(request) == UCS_INPROGRESS) return false;
    ucp_request_free(request);
    return true;
  });
  return ended;
}

void ucx_link::close_by_force(connection& who) {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  auto* request = ucp_ep_close_nbx(std::exchange(who.endpoint, nullptr), &param);
  if (UCS_PTR_IS_PTR(request)) closing_.push_back(request);
}

void ucx_link::give_up(peer_id peer) {
  gave_up_ = true;
  const auto endpoint = peers_[peer].endpoint;
  close_by_force(peers_[peer]);  // ends what UCX knows
  for (auto& slot : sends_) {
    if (slot.state != use::under_way || slot.to != peer) continue;
    slot.state = use::given_up;
    if (slot.token != 0) sent_.push_back({slot.token, UCS_ERR_CONNECTION_RESET});
    --sends_under_way_;
  }
  for (auto& slot : bundles_) {
    if (slot.state != use::under_way || slot.to != peer) continue;
    slot.state = use::given_up;
    tell(slot, UCS_ERR_CONNECTION_RESET);
    --sends_under_way_;
  }
  for (auto& slot : receives_) {
    if (slot.state != use::under_way || slot.from != endpoint) continue;
    slot.state = use::given_up;
    slot.place = {};
    frames_lost_.push_back(slot.header);
    --receives_under_way_;
  }
}

}  // namespace tidegate::runtime
