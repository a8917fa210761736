// The end of the connection to a peer that has died: UCX then ends what is under way with it.
#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/ucx/ucx_link_impl.hpp"

namespace tidegate::runtime {

void ucx_link::disconnect(peer_id peer) {
  TIDEGATE_ASSERT(peer < peers_.size(), "a peer of this link");
  auto& dead = peers_[peer];
  dead.lost = true;
  std::erase_if(lost_, [&](const loss& lost) { return lost.peer == peer; });
  if (dead.endpoint && !std::exchange(dead.departs, true)) departing_.push_back(peer);
}

unsigned ucx_link::go_on_disconnecting() {
  const auto ended = static_cast<unsigned>(departing_.size());
  for (const auto peer : std::exchange(departing_, {})) close_by_force(peers_[peer]);
  std::erase_if(closing_, [](void* request) {
    if (ucp_request_check_status(request) == UCS_INPROGRESS) return false;
    ucp_request_free(request);
    return true;
  });
  return ended;
}

void ucx_link::close_by_force(connection& peer) {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  auto* request = ucp_ep_close_nbx(std::exchange(peer.endpoint, nullptr), &param);
  if (UCS_PTR_IS_PTR(request)) closing_.push_back(request);
}

}  // namespace tidegate::runtime
