#include "launch/agents/frame_connection.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <poll.h>
#include <sys/socket.h>
#include <utility>

namespace tidegate::launch {

namespace {

constexpr std::size_t header_bytes = 4;
constexpr std::size_t bytes_per_read = std::size_t{64} << 10U;

bool would_block() {
  return errno == EAGAIN || errno == EINTR;
}

}  // namespace

void frame_connection::close() {
  fd_.reset();
  unsent_.clear();
  sent_ = 0;
  received_.clear();
}

short frame_connection::awaits() const noexcept {
  return static_cast<short>(unsent_.empty() ? POLLIN : POLLIN | POLLOUT);
}

void frame_connection::send(std::string_view text) {
  if (!is_open()) return;
  if (sent_ > unsent_.size() / 2) unsent_.erase(0, std::exchange(sent_, 0));
  const auto size = static_cast<std::uint32_t>(text.size());
  for (unsigned shift = 0; shift < 32; shift += 8)
    unsent_ += static_cast<char>((size >> shift) & 0xffU);
  unsent_ += text;
  (void)flush();  // read() tells that it has broken
}

bool frame_connection::flush() {
  while (sent_ < unsent_.size()) {
    const auto sent = ::send(fd_.get(), unsent_.data() + sent_, unsent_.size() - sent_,
                             MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) return would_block();
    sent_ += static_cast<std::size_t>(sent);
  }
  unsent_.clear();
  sent_ = 0;
  return true;
}

bool frame_connection::read(std::vector<std::string>& into) {
  if (!is_open()) return false;
  const bool is_whole = flush() && receive();
  if (take_frames(into) && is_whole) return true;
  close();
  return false;
}

bool frame_connection::receive() {
  std::array<char, bytes_per_read> bytes{};
  for (;;) {
    const auto got = ::recv(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0) return would_block();
    if (got == 0) return false;
    received_.append(bytes.data(), static_cast<std::size_t>(got));
    has_heard_ = true;
    if (received_.size() > frame_bytes_max) return true;  // the rest comes with the next call
  }
}

bool frame_connection::take_frames(std::vector<std::string>& into) {
  std::size_t at = 0;
  bool is_valid = true;
  while (is_valid && received_.size() - at >= header_bytes) {
    std::size_t size = 0;
    for (std::size_t i = header_bytes; i > 0; --i)
      size = (size << 8U) | static_cast<unsigned char>(received_[at + i - 1]);
    is_valid = size <= frame_bytes_max;
    if (!is_valid || received_.size() - at - header_bytes < size) break;
    into.push_back(received_.substr(at + header_bytes, size));
    at += header_bytes + size;
  }
  received_.erase(0, at);
  return is_valid;
}

}  // namespace tidegate::launch
