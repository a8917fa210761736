#include "launch/monitor/http_connection.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <string_view>
#include <sys/socket.h>

#include "runtime/base/unix_time.hpp"

namespace tidegate::launch {

namespace {

constexpr std::size_t head_bytes_most = 8192;
constexpr std::string_view line_end = "\r\n";
constexpr std::string_view head_end = "\r\n\r\n";

// All that answers depend on.
bool is_let_through(std::string_view line) {
  constexpr std::array<std::string_view, 4> names{
      "host:", "authorization:", "accept:", "if-none-match:"};
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return line.size() >= name.size() &&
           std::equal(name.begin(), name.end(), line.begin(), [](char known, char given) {
             return known == std::tolower(static_cast<unsigned char>(given));
           });
  });
}

// The library ends lines at a bare LF, too: what is one line here would be several there.
bool is_in_lines(std::string_view head) {
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (head[i] == '\0') return false;
    if (head[i] == '\n' && (i == 0 || head[i - 1] != '\r')) return false;
    if (head[i] == '\r' && (i + 1 == head.size() || head[i + 1] != '\n')) return false;
  }
  return true;
}

}  // namespace

bool http_connection::wait_for(short events) const {
  const auto left_ns = deadline_ - runtime::steady_now();
  if (left_ns <= 0) return false;
  pollfd ready{.fd = socket_, .events = events, .revents = 0};
  constexpr std::int64_t ns_per_ms = 1'000'000;
  const int found = ::poll(&ready, 1, static_cast<int>(left_ns / ns_per_ms) + 1);
  return found > 0 || (found < 0 && errno == EINTR);
}

bool http_connection::read_head(std::string& head) {
  std::array<char, 2048> bytes{};
  while (head.find(head_end) == std::string::npos) {
    if (head.size() > head_bytes_most) {
      refuse("431 Request Header Fields Too Large");
      return false;
    }
    if (!wait_for(POLLIN)) return false;
    const auto got = ::recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got == 0) return false;
    if (got < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (got > 0) head.append(bytes.data(), static_cast<std::size_t>(got));
  }
  return true;
}

bool http_connection::read_request() {
  std::string head;
  if (!read_head(head)) return false;
  head.resize(head.find(head_end) + head_end.size());  // what follows is a body
  if (!is_in_lines(head)) {
    refuse("400 Bad Request");
    return false;
  }
  if (!head.starts_with("GET ") && !head.starts_with("HEAD ")) {
    refuse("405 Method Not Allowed");
    return false;
  }
  auto at = head.find(line_end) + line_end.size();
  request_ = head.substr(0, at);
  for (auto end = head.find(line_end, at); end != at && end != std::string::npos;
       at = end + line_end.size(), end = head.find(line_end, at)) {
    const auto line = std::string_view(head).substr(at, end - at);
    if (is_let_through(line)) request_.append(line).append(line_end);
  }
  request_.append(line_end);
  return true;
}

void http_connection::refuse(const char* status) {
  const auto answer = "HTTP/1.1 " + std::string(status) +
                      "\r\nAllow: GET, HEAD\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  (void)write(answer.data(), answer.size());
}

ssize_t http_connection::read(char* into, std::size_t size) {
  const auto count = std::min(size, request_.size() - at_);
  std::memcpy(into, request_.data() + at_, count);
  at_ += count;
  return static_cast<ssize_t>(count);
}

ssize_t http_connection::write(const char* from, std::size_t size) {
  std::size_t sent = 0;
  while (sent < size) {
    if (!wait_for(POLLOUT)) return -1;
    const auto count = ::send(socket_, from + sent, size - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN && errno != EINTR) return -1;
    if (count > 0) sent += static_cast<std::size_t>(count);
  }
  return static_cast<ssize_t>(sent);
}

// Nothing here depends on where requests come from.
void http_connection::get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const {}
void http_connection::get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const {}

}  // namespace tidegate::launch
