#include "runtime/ucx/ucx_worker.hpp"

#include <algorithm>
#include <iterator>

#include "runtime/transport/bundle.hpp"
#include "runtime/ucx/stream_guard.hpp"
#include "runtime/ucx/stream_refusals.hpp"
#include "runtime/ucx/ucx_address.hpp"
#include "runtime/ucx/ucx_error.hpp"

namespace tidegate::runtime {

status ucx_worker::open(ucp_context_h context, std::uint32_t silent_ms) {
  if (auto created = create(context, silent_ms); !created.ok()) return created;
  if (auto asked = ask_limits(); !asked.ok()) return asked;
  return ask_address();
}

status ucx_worker::create(ucp_context_h context, std::uint32_t silent_ms) {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  const auto others = silent_ms > 0 ? listening_sockets() : std::vector<int>();
  if (auto code = ucp_worker_create(context, &params, &worker_); code != UCS_OK)
    return ucx_error("making a UCX worker", code);
  if (silent_ms == 0) return {};
  std::vector<int> own;
  const auto all = listening_sockets();
  std::set_difference(all.begin(), all.end(), others.begin(), others.end(),
                      std::back_inserter(own));
  limit_accepted(own, silent_ms);
  return {};
}

status ucx_worker::handle(unsigned id, ucp_am_recv_callback_t callback, void* owner) {
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                       UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = id;
  handler.flags = UCP_AM_FLAG_WHOLE_MSG;
  handler.cb = callback;
  handler.arg = owner;
  if (auto code = ucp_worker_set_am_recv_handler(worker_, &handler); code != UCS_OK)
    return ucx_error("installing the frame handler", code);
  return {};
}

// The headers of a bundle are one header of UCX's: 8 KiB over TCP.
status ucx_worker::ask_limits() {
  ucp_worker_attr_t attributes{};
  attributes.field_mask = UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER;
  if (auto code = ucp_worker_query(worker_, &attributes); code != UCS_OK)
    return ucx_error("asking for UCX's limits", code);
  bundle_frames_most_ = std::clamp<std::size_t>(attributes.max_am_header / frame_header_bytes,
                                                1, bundle_frames_max);
  return {};
}

// Shared memory does not lead here from another host, even if it looks so: network namespaces
// of one machine stand for hosts.
status ucx_worker::ask_address() {
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

expected<int> ucx_worker::event_fd() const {
  int fd = -1;
  if (auto code = ucp_worker_get_efd(worker_, &fd); code != UCS_OK)
    return fail(ucx_error("asking for UCX's event descriptor", code));
  return fd;
}

unsigned ucx_worker::progress() {
  const stream_refusals postponed;
  return ucp_worker_progress(worker_);
}

void ucx_worker::drain(std::vector<void*>& requests, time_point deadline) {
  while (free_ended(requests), !requests.empty() && std::chrono::steady_clock::now() < deadline)
    progress();
}

void free_ended(std::vector<void*>& requests) {
  std::erase_if(requests, [](void* request) {
    if (ucp_request_check_status(request) == UCS_INPROGRESS) return false;
    ucp_request_free(request);
    return true;
  });
}

}  // namespace tidegate::runtime
