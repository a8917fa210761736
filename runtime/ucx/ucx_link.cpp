#include "runtime/ucx/ucx_link.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string>
#include <sys/epoll.h>
#include <utility>
#include <vector>

#include "runtime/ucx/stream_refusals.hpp"
#include "runtime/ucx/ucx_address.hpp"
#include "runtime/ucx/ucx_context.hpp"
#include "runtime/ucx/ucx_error.hpp"
#include "runtime/ucx/ucx_link_impl.hpp"

namespace tidegate::runtime {

status ucx_link::open(const ucx_options& options) {
  auto context = make_ucx_context(options);
  if (!context) return context.error();
  context_ = *context;
  if (options.silent_ms > 0) guard_ = stream_guard::of_process(options.silent_ms);
  memory_ = std::make_shared<ucx_memory>(context_);

  if (auto opened = open_worker(options.silent_ms); !opened.ok()) return opened;

  if (auto set = handle(frame_am_id, &ucx_link::on_message); !set.ok()) return set;
  if (auto set = handle(bundle_am_id, &ucx_link::on_bundle); !set.ok()) return set;
  if (auto set = handle(hearing_am_id, &ucx_link::on_hearing); !set.ok()) return set;
  if (auto asked = ask_limits(); !asked.ok()) return asked;
  if (auto asked = ask_address(); !asked.ok()) return asked;
  return open_events();
}

status ucx_link::open_worker(std::uint32_t silent_ms) {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  const auto others = silent_ms > 0 ? listening_sockets() : std::vector<int>();
  if (auto code = ucp_worker_create(context_, &params, &worker_); code != UCS_OK)
    return ucx_error("making a UCX worker", code);
  if (silent_ms == 0) return {};
  std::vector<int> own;
  const auto all = listening_sockets();
  std::set_difference(all.begin(), all.end(), others.begin(), others.end(),
                      std::back_inserter(own));
  limit_accepted(own, silent_ms);
  return {};
}

status ucx_link::open_events() {
  int ucx_events = -1;
  if (auto code = ucp_worker_get_efd(worker_, &ucx_events); code != UCS_OK)
    return ucx_error("asking for UCX's event descriptor", code);
  if (auto opened = questions_.open(); !opened.ok()) return opened;
  events_ = unique_fd(::epoll_create1(EPOLL_CLOEXEC));
  for (const int fd : {ucx_events, questions_.fd()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
      return {errc::over_limit,
              std::string("watching UCX's event descriptor: ") + std::strerror(errno)};
  }
  return {};
}

status ucx_link::handle(unsigned id, ucp_am_recv_callback_t callback) {
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                       UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = id;
  handler.flags = UCP_AM_FLAG_WHOLE_MSG;
  handler.cb = callback;
  handler.arg = this;
  if (auto code = ucp_worker_set_am_recv_handler(worker_, &handler); code != UCS_OK)
    return ucx_error("installing the frame handler", code);
  return {};
}

// The headers of a bundle are one header of UCX's: 8 KiB over TCP.
status ucx_link::ask_limits() {
  ucp_worker_attr_t attributes{};
  attributes.field_mask = UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER;
  if (auto code = ucp_worker_query(worker_, &attributes); code != UCS_OK)
    return ucx_error("asking for UCX's limits", code);
  bundle_frames_most_ = std::clamp<std::size_t>(attributes.max_am_header / frame_header_bytes,
                                                1, bundle_frames_max);
  arriving_.reserve(bundle_frames_max);
  return {};
}

// What leads here from another host. Shared memory does not, even if it looks so: network
// namespaces of one machine stand for hosts.
status ucx_link::ask_address() {
  ucp_worker_attr_t attributes{};
  attributes.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS | UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS;
  attributes.address_flags = UCP_WORKER_ADDRESS_FLAG_NET_ONLY;
  if (auto code = ucp_worker_query(worker_, &attributes); code != UCS_OK)
    return ucx_error("asking for this process's UCX address", code);
  address_.assign(reinterpret_cast<const char*>(attributes.address), attributes.address_length);
  ucp_worker_release_address(worker_, attributes.address);
  const auto number = worker_number(address_);
  if (!number) return number.error();
  number_ = *number;
  return {};
}

// A process may have several connections to another, each the first of its member. What is
// made after one has broken must not be paired with what the other side closed.
expected<std::string> ucx_link::address_of_next(std::string_view address,
                                                std::uint64_t number) const {
  const bool again = std::any_of(peers_.begin(), peers_.end(),
                                 [&](const connection& peer) { return peer.number == number; });
  if (again) return renumbered(address);
  return std::string(address);
}

expected<peer_id> ucx_link::connect(std::string_view address, reach) {
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
  params.err_handler.cb = &ucx_link::on_error;
  params.err_handler.arg = &peer;
  if (auto code = ucp_ep_create(worker_, &params, &peer.endpoint); code != UCS_OK) {
    peer.endpoint = nullptr;
    peer.lost = true;
    return tl::unexpected(ucx_error("connecting to a peer: no transport in common", code));
  }
  return peer.id;
}

unsigned ucx_link::progress_worker() {
  const stream_refusals postponed;
  return ucp_worker_progress(worker_);
}

unsigned ucx_link::progress() {
  unsigned happened = progress_worker();
  if (!heard_.empty()) happened += hear_all();
  if (questions_.runs()) happened += ask_when_due();
  if (!departing_.empty() || !closing_.empty()) happened += go_on_disconnecting();
  if (!sent_.empty()) {
    std::swap(sent_, telling_);
    happened += static_cast<unsigned>(telling_.size());
    for (auto& sent : telling_)
      sink_->on_sent(sent.token,
                     sent.code == UCS_OK ? status() : ucx_error("sending a frame", sent.code));
    telling_.clear();
  }
  while (!frames_lost_.empty()) {
    const auto header = frames_lost_.back();
    frames_lost_.pop_back();
    ++happened;
    sink_->on_frame_lost(header);
  }
  while (!lost_.empty()) {
    const auto broken = lost_.back();
    lost_.pop_back();
    ++happened;
    sink_->on_peer_lost(broken.peer, ucx_error("the connection to a peer broke", broken.code));
  }
  return happened;
}

bool ucx_link::arm() {
  if (!sent_.empty() || !lost_.empty() || !frames_lost_.empty()) return false;
  if (!departing_.empty() || !closing_.empty()) return false;
  slept_ = ucp_worker_arm(worker_) == UCS_OK;  // else events wait, progress again
  return slept_;
}

void ucx_link::on_error(void* peer, ucp_ep_h, ucs_status_t code) {
  auto& broken = *static_cast<connection*>(peer);
  broken.owner->lose(broken, code);
}

void ucx_link::lose(connection& peer, ucs_status_t code) {
  if (peer.lost) return;
  peer.lost = true;
  lost_.push_back({peer.id, code});
}

// Waits for requests and frees them; those still under way at the deadline stay in the list.
void ucx_link::drain(std::vector<void*>& requests, steady_clock::time_point deadline) {
  const auto done = [](void* request) {
    if (ucp_request_check_status(request) == UCS_INPROGRESS) return false;
    ucp_request_free(request);
    return true;
  };
  while (std::erase_if(requests, done), !requests.empty() && steady_clock::now() < deadline)
    progress_worker();
}

std::size_t ucx_link::sends_under_way() const {
  return sends_.out() + bundles_.out() + sayings_.out();
}

void ucx_link::close(std::uint32_t flush_ms_max) {
  using std::chrono::milliseconds;
  const auto deadline = steady_clock::now() + milliseconds(flush_ms_max);
  while (sends_under_way() > 0 && steady_clock::now() < deadline) progress_worker();

  ucp_request_param_t param{};
  std::vector<void*> flushes;
  for (auto& peer : peers_) {
    if (!peer.endpoint || peer.lost || flush_ms_max == 0) continue;
    auto* request = ucp_ep_flush_nbx(peer.endpoint, &param);
    if (UCS_PTR_IS_PTR(request)) flushes.push_back(request);
  }
  drain(flushes, steady_clock::now() + milliseconds(std::min(flush_ms_max, 200u)));

  // What is out is out. Closing by force ends what a dead peer still holds up; a graceful close
  // waits for it, and ucp_worker_destroy then finds requests and aborts.
  for (auto& peer : peers_) {
    peer.lost = true;
    if (peer.endpoint) close_by_force(peer);
  }
  constexpr auto patience = milliseconds(1000);
  drain(closing_, steady_clock::now() + patience);
  drain(flushes, steady_clock::now() + patience);
  stuck_ = stuck_ || !closing_.empty() || !flushes.empty();
  // UCX ends the requests of a broken endpoint in a later turn.
  const auto last = steady_clock::now() + patience;
  while (sends_under_way() + receives_.out() > 0 && steady_clock::now() < last)
    progress_worker();
  sink_ = &nobody_;  // the former sink may go; UCX may still call back until the worker is gone
  lost_.clear();
  frames_lost_.clear();
  heard_.clear();
  departing_.clear();
  sent_.clear();
  for (auto& slot : receives_.all())
    slot.place = {};  // leases go back; nothing writes to them any more
}

expected<std::unique_ptr<link>> open_ucx_link(const ucx_options& options) {
  auto opening = std::make_unique<ucx_link>();
  if (auto opened = opening->open(options); !opened.ok()) return fail(std::move(opened));
  return std::unique_ptr<link>(std::move(opening));
}

}  // namespace tidegate::runtime
