#include "runtime/process/spare.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/assert.hpp"
#include "runtime/process/copy_safety.hpp"

namespace tidegate::runtime {

namespace {

constexpr std::size_t descriptors_max = 8;
constexpr std::size_t message_max = 128 * 1024;
constexpr int ask_every_ms = 100;

// What a process says when it waits.
constexpr char waits = 'w', waits_and_copies = 'c';
// How a message of the launcher begins: a place, with output or without, or a copy is wanted.
constexpr char place_with_output = 'o', place = 'p', copy = 'c';

constexpr std::size_t control_max =
    CMSG_SPACE(descriptors_max * sizeof(int)) + CMSG_SPACE(sizeof(ucred));

// Where a message of one piece lies, and what comes with it.
struct message_room {
  message_room(char* text, std::size_t size) : data{text, size} {
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
  message_room(const message_room&) = delete;
  message_room& operator=(const message_room&) = delete;

  iovec data;
  alignas(cmsghdr) char control[control_max] = {};
  msghdr message = {};
};

struct received {
  std::string text;
  std::vector<unique_fd> descriptors;
};

status failure(const std::string& doing) {
  return {errc::io_error, doing + ": " + std::strerror(errno)};
}

// Zero-terminated texts "NAME=value", after them the names of variables that take descriptors,
// in the order of these. The first descriptor is the output, if there is one.
std::string encode(const spare_place& given) {
  std::string text(1, given.output >= 0 ? place_with_output : place);
  for (const auto& [name, value] : given.variables) text += name + "=" + value + '\0';
  for (const auto& [name, fd] : given.descriptors) text += name + '\0';
  return text;
}

void put_number(std::string& value, int fd) {
  const auto at = value.find("{}");
  if (at != std::string::npos) value.replace(at, 2, std::to_string(fd));
}

status unclear_message() {
  return {errc::corrupt, "the launcher's word on this process's place is unclear"};
}

// Takes the place that the message names. Errors: corrupt, io_error.
status take_place(received message) {
  auto next = message.descriptors.begin();
  const auto kind = message.text.front();
  if (kind != place_with_output && kind != place) return unclear_message();
  if (kind == place_with_output) {
    if (next == message.descriptors.end()) return unclear_message();
    if (::dup2(next->get(), 1) < 0 || ::dup2(next->get(), 2) < 0) return failure("dup2");
    ++next;
  }
  auto text = std::string_view(message.text).substr(1);
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
    if (variable == variables.end() || next == message.descriptors.end())
      return unclear_message();
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

void take_descriptors(msghdr& message, std::vector<unique_fd>& into) {
  for (auto* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const auto count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      into.emplace_back(fd);
    }
  }
}

expected<received> receive(int from) {
  received result;
  result.text.resize(message_max);
  message_room room(result.text.data(), result.text.size());
  auto& message = room.message;
  auto n = ::recvmsg(from, &message, MSG_CMSG_CLOEXEC);
  // A launcher that closes its end and has not read that this process waits resets the
  // connection: that is told once, before the message that the launcher may have sent.
  if (n < 0 && errno == ECONNRESET) n = ::recvmsg(from, &message, MSG_CMSG_CLOEXEC);
  if (n < 0 && errno != ECONNRESET) return fail(failure("waiting for a place"));
  if (n <= 0) return fail(errc::cancelled, "this spare process is needed no more");
  take_descriptors(message, result.descriptors);
  if ((message.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) != 0)
    return fail(errc::io_error, "this process has no room for the descriptors of its place");
  result.text.resize(static_cast<std::size_t>(n));
  return result;
}

status say(int to, char word) {
  const auto sent = ::send(to, &word, 1, MSG_NOSIGNAL);
  return sent == 1 || errno == EPIPE || errno == ECONNRESET ? status() : failure("a spare");
}

// Waits for a message of the launcher.
expected<received> await_message(const spare_options& options) {
  pollfd socket{.fd = own_end(), .events = POLLIN, .revents = 0};
  for (;;) {
    const int count = ::poll(&socket, 1, options.interrupted ? ask_every_ms : -1);
    if (count < 0 && errno != EINTR) return fail(failure("waiting for a place"));
    if (count > 0) return receive(own_end());
    if (options.interrupted && options.interrupted())
      return fail(errc::cancelled, "interrupted while this spare process waited for a place");
  }
}

pid_t fork_as(const spare_options& options) {
  return options.fork ? options.fork() : ::fork();
}

// What becomes the copy: it waits until its parent, which was forked for that, has ended, so
// that it is the launcher's child from then on and dies with it.
void become_copy(unique_fd end, const unique_fd& begin) {
  char go = 0;
  if (::read(begin.get(), &go, 1) != 1) ::_exit(1);
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::close(own_end());
  own_end() = end.release();
}

// Returns in the original and in the copy; true in the copy.
expected<bool> make_copy(unique_fd end, const spare_options& options) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(failure("a copy of a spare process"));
  const unique_fd begin(ends[0]);
  unique_fd go(ends[1]);
  const auto between = fork_as(options);
  if (between < 0) return fail(failure("a copy of a spare process"));
  if (between == 0) {
    const auto child = ::fork();
    if (child != 0) ::_exit(child > 0 ? 0 : 1);
    go.reset();
    become_copy(std::move(end), begin);
    return true;
  }
  int result = 0;
  while (::waitpid(between, &result, 0) < 0 && errno == EINTR) continue;
  const char word = 0;
  if (::write(go.get(), &word, 1) != 1) return fail(failure("a copy of a spare process"));
  return false;
}

}  // namespace

expected<std::pair<spare_channel, unique_fd>> spare_channel::make() {
  int ends[2];
  const int yes = 1;
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(failure("a socket for a spare process"));
  spare_channel channel{unique_fd(ends[0])};
  unique_fd other(ends[1]);
  if (::setsockopt(channel.fd(), SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) != 0)
    return fail(failure("a socket for a spare process"));
  return std::pair(std::move(channel), std::move(other));
}

std::optional<spare_word> spare_channel::take_word() {
  if (has_spoken_) return {};
  char said = 0;
  message_room room(&said, 1);
  auto& message = room.message;
  if (::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1) return {};
  has_spoken_ = true;
  spare_word word{.pid = -1, .can_copy = said == waits_and_copies};
  for (auto* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    ucred sender = {};
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_CREDENTIALS) continue;
    std::memcpy(&sender, CMSG_DATA(part), sizeof sender);
    word.pid = sender.pid;
  }
  return word;
}

bool spare_channel::is_closed() const {
  pollfd socket{.fd = socket_.get(), .events = 0, .revents = 0};
  return ::poll(&socket, 1, 0) == 1 && (socket.revents & POLLHUP) != 0;
}

status spare_channel::send(const std::string& text, const std::vector<int>& descriptors) {
  TIDEGATE_ASSERT(descriptors.size() <= descriptors_max, "output, heartbeats and state");
  if (text.size() > message_max)
    return {errc::io_error, "the variables of a place take " + std::to_string(text.size()) +
                                " bytes; allowed: " + std::to_string(message_max)};
  message_room room(const_cast<char*>(text.data()), text.size());
  auto& message = room.message;
  message.msg_controllen = 0;
  if (!descriptors.empty()) {
    message.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
    auto* const part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
    std::memcpy(CMSG_DATA(part), descriptors.data(), descriptors.size() * sizeof(int));
  }
  if (::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return {};
  if (errno == EPIPE || errno == ECONNRESET)
    return {errc::unavailable, "the spare process has ended"};
  return failure("a message to a spare process");
}

status spare_channel::give(const spare_place& given) {
  std::vector<int> numbers;
  if (given.output >= 0) numbers.push_back(given.output);
  for (const auto& [name, fd] : given.descriptors) numbers.push_back(fd);
  return send(encode(given), numbers);
}

status spare_channel::ask_for_copy(int end) {
  return send(std::string(1, copy), {end});
}

void adopt_orphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

bool is_spare() noexcept {
  return own_end() >= 0;
}

status await_place(const spare_options& options) {
  if (!is_spare()) return {};
  std::fflush(nullptr);  // what is in a buffer would be in that of every copy
  const bool can_copy =
      options.may_copy && is_safe_to_copy([&] { return fork_as(options); }, own_end());
  if (auto said = say(own_end(), can_copy ? waits_and_copies : waits); !said.ok()) return said;
  for (;;) {
    auto message = await_message(options);
    if (!message) return message.error();
    if (message->text.front() == copy) {
      if (message->descriptors.size() != 1) return unclear_message();
      const auto is_copy = make_copy(std::move(message->descriptors.front()), options);
      if (!is_copy) return is_copy.error();
      if (*is_copy)
        if (auto said = say(own_end(), waits); !said.ok()) return said;
      continue;
    }
    ::close(std::exchange(own_end(), -1));
    return take_place(std::move(*message));
  }
}

}  // namespace tidegate::runtime
