#include "runtime/process/spare.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime {

namespace {

constexpr std::size_t descriptors_max = 8;
constexpr std::size_t message_max = 128 * 1024;
constexpr int ask_every_ms = 100;
constexpr char ready = 'r';

union control_space {
  cmsghdr first;
  char bytes[CMSG_SPACE(descriptors_max * sizeof(int))];
};

status failure(const std::string& doing) {
  return {errc::io_error, doing + ": " + std::strerror(errno)};
}

// A message: zero-terminated texts "NAME=value", after them the names of variables that take
// descriptors, in the order of these. The first descriptor is the output, if there is one.
std::string encode(const spare_place& place) {
  std::string text(place.output >= 0 ? "o" : "-");
  for (const auto& [name, value] : place.variables) text += name + "=" + value + '\0';
  for (const auto& [name, fd] : place.descriptors) text += name + '\0';
  return text;
}

void put_number(std::string& value, int fd) {
  const auto at = value.find("{}");
  if (at != std::string::npos) value.replace(at, 2, std::to_string(fd));
}

// Takes the place that the message names. Errors: corrupt.
status take(std::string_view text, std::vector<unique_fd> descriptors) {
  const status corrupt(errc::corrupt, "the launcher's word on this process's place is unclear");
  if (text.empty()) return corrupt;
  auto next = descriptors.begin();
  if (text.front() == 'o') {
    if (next == descriptors.end()) return corrupt;
    if (::dup2(next->get(), 1) < 0 || ::dup2(next->get(), 2) < 0) return failure("dup2");
    ++next;
  }
  text.remove_prefix(1);
  launch_variables variables;
  while (!text.empty()) {
    const auto entry = text.substr(0, text.find('\0'));
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
    const auto equals = entry.find('=');
    if (equals != std::string_view::npos) {
      variables.emplace(entry.substr(0, equals), entry.substr(equals + 1));
      continue;
    }
    const auto variable = variables.find(std::string(entry));
    if (variable == variables.end() || next == descriptors.end()) return corrupt;
    put_number(variable->second, (next++)->release());
  }
  take_launch_variables(std::move(variables));
  return {};
}

// The descriptor of this process's end; -1: it is no spare, or has its place.
int& own_end() {
  static int fd = [] {
    const char* value = std::getenv(spare_variable);
    const std::string_view text(value == nullptr ? "" : value);
    int number = -1;
    const auto* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end) return -1;
    // Behind a prefix that closes descriptors, the number may be another file's.
    int kind = 0;
    socklen_t size = sizeof kind;
    const bool is_ours =
        ::getsockopt(number, SOL_SOCKET, SO_TYPE, &kind, &size) == 0 && kind == SOCK_SEQPACKET;
    return is_ours && ::fcntl(number, F_SETFD, FD_CLOEXEC) == 0 ? number : -1;
  }();
  return fd;
}

status receive(int from) {
  std::string text(message_max, '\0');
  iovec data{text.data(), text.size()};
  control_space control;
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  const auto n = ::recvmsg(from, &message, MSG_CMSG_CLOEXEC);
  // A launcher that has not read that this process waits resets the connection as it ends.
  if (n < 0 && errno != ECONNRESET) return failure("waiting for a place");
  if (n <= 0) return {errc::cancelled, "this spare process is needed no more"};
  std::vector<unique_fd> descriptors;
  for (auto* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const auto count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      descriptors.emplace_back(fd);
    }
  }
  text.resize(static_cast<std::size_t>(n));
  return take(text, std::move(descriptors));
}

}  // namespace

expected<std::pair<spare_channel, unique_fd>> spare_channel::make() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(failure("a socket for a spare process"));
  return std::pair(spare_channel(unique_fd(ends[0])), unique_fd(ends[1]));
}

bool spare_channel::take_ready() {
  char word = 0;
  if (was_ready_ || ::recv(socket_.get(), &word, 1, MSG_DONTWAIT) != 1) return false;
  was_ready_ = true;
  return word == ready;
}

status spare_channel::give(const spare_place& place) {
  const auto text = encode(place);
  std::vector<int> numbers;
  if (place.output >= 0) numbers.push_back(place.output);
  for (const auto& [name, fd] : place.descriptors) numbers.push_back(fd);
  TIDEGATE_ASSERT(numbers.size() <= descriptors_max, "output, heartbeats and state");
  if (text.size() > message_max)
    return {errc::io_error, "the variables of a place take " + std::to_string(text.size()) +
                                " bytes; allowed: " + std::to_string(message_max)};
  iovec data{const_cast<char*>(text.data()), text.size()};
  control_space control = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (!numbers.empty()) {
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(numbers.size() * sizeof(int));
    auto* const part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(numbers.size() * sizeof(int));
    std::memcpy(CMSG_DATA(part), numbers.data(), numbers.size() * sizeof(int));
  }
  if (::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return {};
  if (errno == EPIPE || errno == ECONNRESET)
    return {errc::unavailable, "the spare process has ended"};
  return failure("giving a spare process its place");
}

bool is_spare() noexcept {
  return own_end() >= 0;
}

status await_place(const std::function<bool()>& interrupted) {
  if (!is_spare()) return {};
  const int end = own_end();
  if (::send(end, &ready, 1, MSG_NOSIGNAL) != 1 && errno != EPIPE) return failure("a spare");
  pollfd waits{.fd = end, .events = POLLIN, .revents = 0};
  for (;;) {
    const int count = ::poll(&waits, 1, interrupted ? ask_every_ms : -1);
    if (count < 0 && errno != EINTR) return failure("waiting for a place");
    if (count > 0) break;
    if (interrupted && interrupted())
      return {errc::cancelled, "interrupted while this spare process waited for a place"};
  }
  auto result = receive(end);
  ::close(end);
  own_end() = -1;
  return result;
}

}  // namespace tidegate::runtime
