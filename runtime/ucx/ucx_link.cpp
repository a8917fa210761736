#include "runtime/ucx/ucx_link.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include <ucp/api/ucp.h>

#include "runtime/base/assert.hpp"
#include "runtime/transport/silent_sink.hpp"
#include "runtime/ucx/ucx_address.hpp"
#include "runtime/ucx/ucx_context.hpp"
#include "runtime/ucx/ucx_error.hpp"
#include "runtime/ucx/ucx_memory.hpp"

namespace tidegate::runtime {

namespace {

constexpr unsigned am_id = 1;
// Above it a payload is announced and then received where it belongs; up to it the round trip
// costs more than the copy.
constexpr std::size_t eager_bytes_max = 8192;

class ucx_link final : public link {
 public:
  ~ucx_link() override {
    if (worker_) close(0);
    if (worker_ && stuck_) {
      // UCX would abort. The process is about to end; the memory may stay until then.
      static_cast<void>(new std::shared_ptr<ucx_memory>(memory_));
      return;
    }
    if (worker_) ucp_worker_destroy(worker_);
  }

  status open(const ucx_options& options);

  void set_sink(frame_sink* sink) override { sink_ = sink; }
  std::string address() const override { return address_; }
  expected<peer_id> connect(std::string_view address, reach where) override;
  void post(peer_id peer, const frame_header& header, std::span<const std::byte> payload,
            send_token token) override;
  unsigned progress() override;
  int event_fd() const override { return event_fd_; }
  bool arm() override;
  void close(std::uint32_t flush_ms_max) override;
  std::shared_ptr<memory_source> memory() override { return memory_; }
  const link_counters& counters() const override { return counters_; }

 private:
  struct connection {
    ucx_link* owner = nullptr;
    peer_id id = 0;
    ucp_ep_h endpoint = nullptr;
    bool lost = false;
  };
  // One send under way. Slots are kept and reused: the header must live until completion.
  struct send_slot {
    ucx_link* owner = nullptr;
    peer_id to = 0;
    send_token token = 0;
    frame_header_wire header{};
  };
  // One rendezvous under way.
  struct receive_slot {
    ucx_link* owner = nullptr;
    frame_header header;
    buffer place;
  };

  static ucs_status_t on_message(void* self, const void* header, std::size_t header_length,
                                 void* data, std::size_t length,
                                 const ucp_am_recv_param_t* param);
  static void on_send_done(void* request, ucs_status_t code, void* slot);
  static void on_receive_done(void* request, ucs_status_t code, std::size_t length, void* slot);
  static void on_error(void* peer, ucp_ep_h endpoint, ucs_status_t code);

  ucs_status_t receive(const frame_header& header, void* data, std::size_t length, bool rndv);
  void finish_receive(receive_slot& slot, ucs_status_t code);
  void finish_send(send_slot& slot, ucs_status_t code);
  void lose(connection& who, ucs_status_t code);
  using steady_clock = std::chrono::steady_clock;
  void drain(std::vector<void*>& requests, steady_clock::time_point deadline);
  send_slot& take_send_slot();
  receive_slot& take_receive_slot();

  struct outcome {
    send_token token;
    ucs_status_t code;
  };
  struct loss {
    peer_id peer;
    ucs_status_t code;
  };

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int event_fd_ = -1;
  std::string address_;
  std::shared_ptr<ucx_memory> memory_;  // owns the context
  silent_sink nobody_;
  frame_sink* sink_ = &nobody_;
  std::deque<connection> peers_;
  std::deque<send_slot> sends_;
  std::vector<send_slot*> sends_free_;
  std::deque<receive_slot> receives_;
  std::vector<receive_slot*> receives_free_;
  std::size_t sends_under_way_ = 0;
  std::size_t receives_under_way_ = 0;
  bool stuck_ = false;         // requests of UCX that do not end
  std::vector<outcome> sent_;  // told in progress()
  std::vector<outcome> telling_;
  std::vector<loss> lost_;
  link_counters counters_;
};

status ucx_link::open(const ucx_options& options) {
  auto context = make_ucx_context(options);
  if (!context) return context.error();
  context_ = *context;
  memory_ = std::make_shared<ucx_memory>(context_);

  ucp_worker_params_t worker_params{};
  worker_params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  worker_params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  if (auto code = ucp_worker_create(context_, &worker_params, &worker_); code != UCS_OK)
    return ucx_error("making a UCX worker", code);

  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                       UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = am_id;
  handler.flags = UCP_AM_FLAG_WHOLE_MSG;
  handler.cb = &ucx_link::on_message;
  handler.arg = this;
  if (auto code = ucp_worker_set_am_recv_handler(worker_, &handler); code != UCS_OK)
    return ucx_error("installing the frame handler", code);

  auto address = address_of(worker_);
  if (!address) return address.error();
  address_ = std::move(*address);
  if (auto code = ucp_worker_get_efd(worker_, &event_fd_); code != UCS_OK)
    return ucx_error("asking for UCX's event descriptor", code);
  return {};
}

expected<peer_id> ucx_link::connect(std::string_view address, reach where) {
  const auto target = part_of(address, where);
  if (target.empty()) return fail(errc::unavailable, "connecting to a peer: no UCX address");
  auto& made = peers_.emplace_back();
  made.owner = this;
  made.id = static_cast<peer_id>(peers_.size() - 1);
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(target.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = &ucx_link::on_error;
  params.err_handler.arg = &made;
  if (auto code = ucp_ep_create(worker_, &params, &made.endpoint); code != UCS_OK) {
    made.endpoint = nullptr;
    made.lost = true;
    return tl::unexpected(ucx_error("connecting to a peer: no transport in common", code));
  }
  return made.id;
}

void ucx_link::post(peer_id peer, const frame_header& header,
                    std::span<const std::byte> payload, send_token token) {
  TIDEGATE_ASSERT(peer < peers_.size(), "a peer of this link");
  TIDEGATE_ASSERT(header.payload_bytes == payload.size(), "the header tells the payload");
  auto& to = peers_[peer];
  auto& slot = take_send_slot();
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
  ++counters_.frames_sent;
  counters_.payload_bytes_sent += payload.size();
  const auto request =
      ucp_am_send_nbx(to.endpoint, am_id, slot.header.data(), slot.header.size(),
                      payload.data(), payload.size(), &param);
  if (UCS_PTR_IS_PTR(request)) return;  // on_send_done frees it
  finish_send(slot, UCS_PTR_RAW_STATUS(request));
}

unsigned ucx_link::progress() {
  unsigned happened = ucp_worker_progress(worker_);
  if (!sent_.empty()) {
    std::swap(sent_, telling_);
    happened += static_cast<unsigned>(telling_.size());
    for (auto& one : telling_)
      sink_->on_sent(one.token,
                     one.code == UCS_OK ? status() : ucx_error("sending a frame", one.code));
    telling_.clear();
  }
  while (!lost_.empty()) {
    const auto one = lost_.back();
    lost_.pop_back();
    ++happened;
    sink_->on_peer_lost(one.peer, ucx_error("the connection to a peer broke", one.code));
  }
  return happened;
}

bool ucx_link::arm() {
  if (!sent_.empty() || !lost_.empty()) return false;
  return ucp_worker_arm(worker_) == UCS_OK;  // UCS_ERR_BUSY: events wait, progress again
}

ucs_status_t ucx_link::on_message(void* self, const void* header, std::size_t header_length,
                                  void* data, std::size_t length,
                                  const ucp_am_recv_param_t* param) {
  auto& link = *static_cast<ucx_link*>(self);
  const auto wire = std::span(static_cast<const std::byte*>(header), header_length);
  const auto decoded = decode(wire, length);
  if (!decoded) {
    ++link.counters_.frames_bad;
    link.sink_->on_bad_frame(decoded.error());
    return UCS_OK;  // drops a rendezvous, too; its sender completes
  }
  return link.receive(*decoded, data, length,
                      (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0);
}

ucs_status_t ucx_link::receive(const frame_header& header, void* data, std::size_t length,
                               bool rndv) {
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
  auto& slot = take_receive_slot();
  slot.header = header;
  slot.place = std::move(place);
  if (!rndv) {
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
  receives_free_.push_back(&slot);
  --receives_under_way_;
  if (code != UCS_OK) return sink_->on_frame_lost(header);  // on_error tells of the peer
  ++counters_.frames_received;
  counters_.payload_bytes_received += place.size();
  sink_->on_frame(header, std::move(place));
}

void ucx_link::finish_send(send_slot& slot, ucs_status_t code) {
  if (slot.token != 0) sent_.push_back({slot.token, code});
  if (code != UCS_OK) lose(peers_[slot.to], code);
  --sends_under_way_;
  sends_free_.push_back(&slot);
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

void ucx_link::on_error(void* who, ucp_ep_h, ucs_status_t code) {
  auto& broken = *static_cast<connection*>(who);
  broken.owner->lose(broken, code);
}

void ucx_link::lose(connection& who, ucs_status_t code) {
  if (who.lost) return;
  who.lost = true;
  lost_.push_back({who.id, code});
}

ucx_link::send_slot& ucx_link::take_send_slot() {
  if (sends_free_.empty()) {
    sends_free_.push_back(&sends_.emplace_back());
    sends_free_.back()->owner = this;
    sends_free_.reserve(sends_.size());
  }
  auto* slot = sends_free_.back();
  sends_free_.pop_back();
  ++sends_under_way_;
  return *slot;
}

ucx_link::receive_slot& ucx_link::take_receive_slot() {
  if (receives_free_.empty()) {
    receives_free_.push_back(&receives_.emplace_back());
    receives_free_.back()->owner = this;
    receives_free_.reserve(receives_.size());
  }
  auto* slot = receives_free_.back();
  receives_free_.pop_back();
  ++receives_under_way_;
  return *slot;
}

// Waits for requests and frees them; those still under way at the deadline stay in the list.
void ucx_link::drain(std::vector<void*>& requests, steady_clock::time_point deadline) {
  const auto done = [](void* request) {
    if (ucp_request_check_status(request) == UCS_INPROGRESS) return false;
    ucp_request_free(request);
    return true;
  };
  while (std::erase_if(requests, done), !requests.empty() && steady_clock::now() < deadline)
    ucp_worker_progress(worker_);
}

void ucx_link::close(std::uint32_t flush_ms_max) {
  using std::chrono::milliseconds;
  const auto deadline = steady_clock::now() + milliseconds(flush_ms_max);
  while (sends_under_way_ > 0 && steady_clock::now() < deadline) ucp_worker_progress(worker_);

  ucp_request_param_t param{};
  std::vector<void*> flushes;
  for (auto& one : peers_) {
    if (!one.endpoint || one.lost || flush_ms_max == 0) continue;
    auto* request = ucp_ep_flush_nbx(one.endpoint, &param);
    if (UCS_PTR_IS_PTR(request)) flushes.push_back(request);
  }
  drain(flushes, steady_clock::now() + milliseconds(std::min(flush_ms_max, 200u)));

  // What is out is out. Closing by force ends what a dead peer still holds up; a graceful close
  // waits for it, and ucp_worker_destroy then finds requests and aborts.
  std::vector<void*> closing;
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  for (auto& one : peers_) {
    one.lost = true;
    if (!one.endpoint) continue;
    auto* request = ucp_ep_close_nbx(one.endpoint, &param);
    if (UCS_PTR_IS_PTR(request)) closing.push_back(request);
    one.endpoint = nullptr;
  }
  constexpr auto patience = milliseconds(1000);
  drain(closing, steady_clock::now() + patience);
  drain(flushes, steady_clock::now() + patience);
  stuck_ = stuck_ || !closing.empty() || !flushes.empty();
  // UCX ends the requests of a broken endpoint in a later turn.
  const auto last = steady_clock::now() + patience;
  while (sends_under_way_ + receives_under_way_ > 0 && steady_clock::now() < last)
    ucp_worker_progress(worker_);
  sink_ =
      &nobody_;  // whoever listened may go; UCX may still call back until the worker is gone
  lost_.clear();
  sent_.clear();
  for (auto& slot : receives_)
    slot.place = {};  // leases go back; nothing writes to them any more
}

}  // namespace

expected<std::unique_ptr<link>> open_ucx_link(const ucx_options& options) {
  auto made = std::make_unique<ucx_link>();
  if (auto opened = made->open(options); !opened.ok()) return fail(std::move(opened));
  return std::unique_ptr<link>(std::move(made));
}

}  // namespace tidegate::runtime
