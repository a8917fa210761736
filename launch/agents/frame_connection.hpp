// Texts over a connection that does not block: each with its length before it, 4 bytes, the
// lowest first. One thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policies/model/state_image.hpp"
#include "policies/model/state_layout.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::launch {

class frame_connection {
 public:
  // A text is no longer; more is another protocol. The longest has all versions of what a
  // worker keeps.
  static constexpr std::size_t frame_bytes_max =
      policies::state_slots * policies::mirrored_state_bytes_max + (std::size_t{16} << 20U);

  frame_connection() = default;
  explicit frame_connection(runtime::unique_fd connection) : fd_(std::move(connection)) {}

  bool is_open() const noexcept { return static_cast<bool>(fd_); }
  void close();
  int fd() const noexcept { return fd_.get(); }
  // Returns the events of poll(2) to wait for before read().
  short awaits() const noexcept;

  // Sends as soon as there is room; what is not sent when the connection breaks is lost.
  void send(std::string_view text);
  // Sends what is left, and appends the texts that have arrived. Returns false, and closes, if
  // the connection has broken, the peer has closed it, or sends what is no such text.
  bool read(std::vector<std::string>& into);
  // Returns how many bytes are kept of what was to be sent.
  std::size_t kept_bytes() const noexcept { return unsent_.size(); }
  // Returns true if bytes have arrived since the last call: of a long text, say, whose end is
  // not here.
  bool take_sign() noexcept { return std::exchange(has_heard_, false); }

 private:
  bool flush();
  bool receive();
  bool take_frames(std::vector<std::string>& into);

  runtime::unique_fd fd_;
  std::string unsent_;
  std::size_t sent_ = 0;  // bytes of unsent_
  std::string received_;
  bool has_heard_ = false;
};

}  // namespace tidegate::launch
