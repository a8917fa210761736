// A UCX worker: what sends, receives and calls back, with its address and its limits.
//
// Owns the worker, which the link destroys before whatever it may call back into. One reactor
// thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ucp/api/ucp.h>

#include "runtime/base/status.hpp"

namespace tidegate::runtime {

// The kinds of messages between links.
inline constexpr unsigned frame_am_id = 1;
inline constexpr unsigned bundle_am_id = 2;
inline constexpr unsigned hearing_am_id = 3;
inline constexpr unsigned announced_am_id = 4;  // a frame whose payload is announced

// At the end of a link: for requests of UCX that should have ended.
inline constexpr std::chrono::milliseconds end_patience{1000};

class ucx_worker {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  ucx_worker() = default;
  ucx_worker(const ucx_worker&) = delete;
  ucx_worker& operator=(const ucx_worker&) = delete;

  // `silent_ms`: as in ucx_options. Errors: unavailable (UCX finds nothing that works),
  // invalid_argument (its address is not of a known form).
  status open(ucp_context_h context, std::uint32_t silent_ms);
  bool is_open() const noexcept { return worker_ != nullptr; }
  void destroy() noexcept { ucp_worker_destroy(worker_); }

  // Has UCX call `callback` with `owner` for each message of this kind. Errors: unavailable.
  status handle(unsigned id, ucp_am_recv_callback_t callback, void* owner);

  ucp_worker_h get() const noexcept { return worker_; }
  // What leads here from another host.
  const std::string& address() const noexcept { return address_; }
  // UCX's number of this worker.
  std::uint64_t number() const noexcept { return number_; }
  std::size_t bundle_frames_most() const noexcept { return bundle_frames_most_; }
  // Errors: unavailable.
  expected<int> event_fd() const;

  // One turn of UCX. Returns how many things happened.
  unsigned progress();
  // Returns false if events wait: progress again.
  bool arm() noexcept { return ucp_worker_arm(worker_) == UCS_OK; }
  // Waits for requests and frees them; those still under way at the deadline stay in the list.
  void drain(std::vector<void*>& requests, time_point deadline);

 private:
  status create(ucp_context_h context, std::uint32_t silent_ms);
  status ask_limits();
  status ask_address();

  ucp_worker_h worker_ = nullptr;
  std::string address_;
  std::uint64_t number_ = 0;
  std::size_t bundle_frames_most_ = 1;
};

// Frees those of the requests that have ended.
void free_ended(std::vector<void*>& requests);

}  // namespace tidegate::runtime
