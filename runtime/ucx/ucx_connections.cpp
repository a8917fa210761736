#include "runtime/ucx/ucx_connections.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "runtime/ucx/ucx_address.hpp"
#include "runtime/ucx/ucx_error.hpp"
#include "runtime/ucx/ucx_hearing.hpp"

namespace tidegate::runtime {

// A process may have several connections to another, each the first of its member. What is
// made after one has broken must not be paired with what the other side closed.
expected<std::string> ucx_connections::address_of_next(std::string_view address,
                                                       std::uint64_t number) const {
  const bool again = std::any_of(peers_.begin(), peers_.end(),
                                 [&](const connection& peer) { return peer.number == number; });
  if (again) return renumbered(address);
  return std::string(address);
}

expected<peer_id> ucx_connections::connect(std::string_view address) {
  if (address.empty()) return fail(errc::unavailable, "connecting to a peer: no UCX address");
  const auto number = worker_number(address);
  if (!number) return fail(number.error());
  const auto leads_to = address_of_next(address, *number);
  if (!leads_to) return fail(leads_to.error());
  auto& peer = peers_.emplace_back();
  peer.owner = this;
  peer.number = *number;
  peer.id = static_cast<peer_id>(peers_.size() - 1);
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(leads_to->data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = &ucx_connections::on_error;
  params.err_handler.arg = &peer;
  if (auto code = ucp_ep_create(worker_.get(), &params, &peer.endpoint); code != UCS_OK) {
    peer.endpoint = nullptr;
    peer.lost = true;
    return tl::unexpected(ucx_error("connecting to a peer: no transport in common", code));
  }
  return peer.id;
}

void ucx_connections::on_error(void* peer, ucp_ep_h, ucs_status_t code) {
  auto& broken = *static_cast<connection*>(peer);
  broken.owner->lose(broken, code);
}

void ucx_connections::lose(connection& peer, ucs_status_t code) {
  if (peer.lost) return;
  peer.lost = true;
  lost_.push_back({peer.id, code});
}

unsigned ucx_connections::tell_lost() {
  unsigned happened = 0;
  while (!lost_.empty()) {
    const auto broken = lost_.back();
    lost_.pop_back();
    ++happened;
    delivery_.sink().on_peer_lost(broken.peer,
                                  ucx_error("the connection to a peer broke", broken.code));
  }
  return happened;
}

void ucx_connections::disconnect(peer_id peer) {
  TIDEGATE_ASSERT(peer < peers_.size(), "a peer of this link");
  auto& dead = peers_[peer];
  dead.lost = true;
  std::erase_if(lost_, [&](const loss& lost) { return lost.peer == peer; });
  if (dead.endpoint && !std::exchange(dead.departs, true)) departing_.push_back(peer);
}

namespace {

// A connection that is made anew more often has told of the earlier ones as often.
constexpr std::size_t given_up_most = 64;

}  // namespace

std::vector<peer_id> ucx_connections::given_up_before(peer_id peer) const {
  std::vector<peer_id> found;
  for (auto at = peer; at > 0 && found.size() < given_up_most; --at)
    if (const auto& earlier = peers_[at - 1]; earlier.departs && earlier.number == number(peer))
      found.push_back(earlier.id);
  return found;
}

std::optional<peer_id> ucx_connections::other_than(peer_id peer) const {
  for (auto at = peers_.size(); at > 0; --at)
    if (const auto& other = peers_[at - 1];
        other.id != peer && other.number == number(peer) && endpoint(other.id) != nullptr)
      return other.id;
  return std::nullopt;
}

// What UCX has failed it ends by itself, and must not be closed: its lanes take nothing more.
// Whoever hears the answer to no question takes no notice.
void ucx_connections::end(ucp_ep_h endpoint) {
  for (auto& peer : peers_)
    if (peer.endpoint == endpoint) return lose(peer, UCS_ERR_CONNECTION_RESET);
  static constexpr hearing_message nothing{.kind = hearing_kind::answer,
                                           .connection = std::numeric_limits<peer_id>::max()};
  ucp_request_param_t param{};
  auto* const request =
      ucp_am_send_nbx(endpoint, hearing_am_id, &nothing, sizeof nothing, nullptr, 0, &param);
  if (UCS_PTR_IS_ERR(request)) return;
  if (UCS_PTR_IS_PTR(request)) ucp_request_free(request);
  close_by_force(endpoint);
}

unsigned ucx_connections::close_departing() {
  const auto ended = static_cast<unsigned>(departing_.size());
  for (const auto peer : std::exchange(departing_, {}))
    close_by_force(std::exchange(peers_[peer].endpoint, nullptr));
  free_ended(closing_);
  return ended;
}

void ucx_connections::close_by_force(ucp_ep_h endpoint) {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  auto* request = ucp_ep_close_nbx(endpoint, &param);
  if (UCS_PTR_IS_PTR(request)) closing_.push_back(request);
}

bool ucx_connections::close(std::uint32_t flush_ms_max) {
  using std::chrono::milliseconds;
  using clock = std::chrono::steady_clock;
  ucp_request_param_t param{};
  std::vector<void*> flushes;
  for (auto& peer : peers_) {
    if (!peer.endpoint || peer.lost || flush_ms_max == 0) continue;
    auto* request = ucp_ep_flush_nbx(peer.endpoint, &param);
    if (UCS_PTR_IS_PTR(request)) flushes.push_back(request);
  }
  worker_.drain(flushes, clock::now() + milliseconds(std::min(flush_ms_max, 200u)));

  // What is out is out. Closing by force ends what a dead peer still holds up; a graceful close
  // waits for it, and ucp_worker_destroy then finds requests and aborts.
  for (auto& peer : peers_) {
    peer.lost = true;
    if (peer.endpoint) close_by_force(std::exchange(peer.endpoint, nullptr));
  }
  worker_.drain(closing_, clock::now() + end_patience);
  worker_.drain(flushes, clock::now() + end_patience);
  return closing_.empty() && flushes.empty();
}

void ucx_connections::clear() noexcept {
  lost_.clear();
  departing_.clear();
}

}  // namespace tidegate::runtime
