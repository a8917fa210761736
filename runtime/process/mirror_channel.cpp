#include "runtime/process/mirror_channel.hpp"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/socket.h>

#include "runtime/base/launch_variables.hpp"
#include "runtime/base/service_thread.hpp"

namespace tidegate::runtime {

namespace {

// An end that is gone is the death of the other process, of which others tell.
void send_message(int fd, const mirror_request& message, int flags = 0) {
  while (::send(fd, &message, sizeof message, MSG_NOSIGNAL | flags) < 0 && errno == EINTR) {
  }
}

std::optional<mirror_request> receive_message(int fd, int flags) {
  mirror_request message;
  ssize_t got = 0;
  do {
    got = ::recv(fd, &message, sizeof message, flags);
  } while (got < 0 && errno == EINTR);
  if (got != sizeof message) return {};
  return message;
}

bool is_packet_socket(int fd) {
  int kind = 0;
  socklen_t size = sizeof kind;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &size) == 0 && kind == SOCK_SEQPACKET;
}

template <class Number>
bool take_number(std::string_view& text, Number& into) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), into);
  if (read.ec != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return true;
}

expected<std::shared_ptr<mirror_line>> open_inherited() {
  const char* value = launch_variable(mirror_variable);
  if (value == nullptr) return std::shared_ptr<mirror_line>();
  std::string_view text(value);
  int fd = -1;
  std::uint64_t every = 0;
  const bool is_valid = take_number(text, fd) && text.starts_with(':') &&
                        (text.remove_prefix(1), take_number(text, every)) && text.empty() &&
                        every > 0;
  if (!is_valid || !is_packet_socket(fd))
    return fail(errc::unavailable,
                "the descriptor by which this worker's state is copied to the launcher "
                "(TIDEGATE_STATE_MIRROR=" +
                    std::string(value) +
                    ") did not come through: what starts the program must hand descriptors on "
                    "(Python's subprocess: close_fds=False)");
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return std::make_shared<mirror_line>(unique_fd(fd), every);
}

}  // namespace

std::string mirror_text(int fd, std::uint64_t every) {
  return std::to_string(fd) + ":" + std::to_string(every);
}

expected<std::pair<mirror_channel, unique_fd>> mirror_channel::make() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(errc::io_error,
                "a pair of sockets for a worker's state: " + std::string(std::strerror(errno)));
  return std::pair(mirror_channel(unique_fd(ends[0])), unique_fd(ends[1]));
}

std::optional<mirror_request> mirror_channel::read() {
  errno = 0;
  const auto request = receive_message(fd_.get(), MSG_DONTWAIT);
  if (!request && errno != EAGAIN) fd_.reset();
  return request;
}

// One that does not read what it has asked for is not waited for.
void mirror_channel::answer(std::uint64_t number) {
  if (is_open()) send_message(fd_.get(), {.number = number}, MSG_DONTWAIT);
}

expected<std::shared_ptr<mirror_line>> mirror_line::of_process() {
  // The descriptor's number may be another file's after it is closed.
  static const auto line = open_inherited();
  return line;
}

void mirror_line::ask(mirror_request request) {
  send_message(fd_.get(), request);
}

std::optional<std::uint64_t> mirror_line::await_answer() {
  const auto message = receive_message(fd_.get(), 0);
  if (!message) return {};
  return message->number;
}

void mirror_line::end() {
  ::shutdown(fd_.get(), SHUT_RDWR);
}

mirror_listener::mirror_listener(std::shared_ptr<mirror_line> line,
                                 std::function<void(std::uint64_t)> hears)
    : line_(std::move(line)), hears_(std::move(hears)), thread_(start_service_thread([this] {
        while (const auto number = line_->await_answer()) hears_(*number);
      })) {}

mirror_listener::~mirror_listener() {
  line_->end();
  thread_.join();
}

}  // namespace tidegate::runtime
