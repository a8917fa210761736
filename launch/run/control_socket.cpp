#include "launch/run/control_socket.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include "runtime/sockets/tcp_socket.hpp"

namespace tidegate::launch {

using runtime::errc;
using runtime::expected;
using runtime::fail;
using runtime::unique_fd;

namespace {

constexpr const char* socket_name = "control.sock";
constexpr std::size_t line_bytes_max = 1024;
constexpr std::size_t clients_max = 64;
constexpr int told_after_ms = 2000;

std::string reason() {
  return std::strerror(errno);
}

// A socket's path has room for a hundred bytes, and run folders have longer ones.
sockaddr_un address_in(int folder) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto path = "/proc/self/fd/" + std::to_string(folder) + "/" + socket_name;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

bool has_left(int asker) {
  pollfd state{.fd = asker, .events = POLLRDHUP, .revents = 0};
  return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

unique_fd open_folder(const std::string& path) {
  return unique_fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace

expected<control_socket> control_socket::listen(const std::string& path) {
  auto folder = open_folder(path);
  if (!folder) return fail(errc::io_error, "cannot open " + path + ": " + reason());
  unique_fd descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto address = address_in(folder.get());
  ::unlinkat(folder.get(), socket_name, 0);  // of a launcher that was killed
  const auto* where = reinterpret_cast<const sockaddr*>(&address);
  const bool listens = descriptor && ::bind(descriptor.get(), where, sizeof address) == 0 &&
                       ::fchmodat(folder.get(), socket_name, 0600, 0) == 0 &&
                       ::listen(descriptor.get(), 16) == 0;
  if (!listens) return fail(errc::io_error, "cannot listen in " + path + ": " + reason());
  return control_socket(std::move(folder), std::move(descriptor));
}

control_socket::~control_socket() {
  if (listener_) ::unlinkat(folder_.get(), socket_name, 0);
}

void control_socket::add_to(std::vector<pollfd>& fds) const {
  if (clients_.size() < clients_max && !rests_) fds.push_back({listener_.get(), POLLIN, 0});
  for (const auto& [number, caller] : clients_) {
    fds.push_back({caller.fd.get(), static_cast<short>(caller.asked ? POLLRDHUP : POLLIN), 0});
    if (!caller.unsent.empty()) fds.push_back({caller.fd.get(), POLLOUT, 0});
  }
}

std::vector<control_socket::request> control_socket::take() {
  while (clients_.size() < clients_max) {
    unique_fd next(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    rests_ = !next && runtime::has_no_room(errno);
    if (!next) break;
    clients_[++last_].fd = std::move(next);
  }
  for (auto at = clients_.begin(); at != clients_.end();) {
    const bool is_sent = !at->second.unsent.empty() && !flush(at->second);
    at = is_sent ? clients_.erase(at) : std::next(at);
  }
  std::vector<request> all;
  for (auto at = clients_.begin(); at != clients_.end();) {
    auto& caller = at->second;
    char bytes[256];
    ssize_t got = -1;
    while (!caller.asked && caller.text.size() < line_bytes_max &&
           (got = ::recv(caller.fd.get(), bytes, sizeof bytes, 0)) > 0)
      caller.text.append(bytes, static_cast<std::size_t>(got));
    const auto end = caller.text.find('\n');
    if (!caller.asked && end != std::string::npos) {
      caller.asked = true;
      all.push_back({at->first, caller.text.substr(0, end)});
    }
    // Whoever waits for an answer, and leaves, keeps no place.
    const bool gone = caller.asked ? has_left(caller.fd.get())
                                   : got == 0 || caller.text.size() >= line_bytes_max ||
                                         (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK &&
                                          errno != EINTR);
    at = gone ? clients_.erase(at) : std::next(at);
  }
  return all;
}

void control_socket::answer(std::uint32_t to, const std::string& line) {
  const auto at = clients_.find(to);
  if (at == clients_.end()) return;
  at->second.unsent = line + "\n";
  if (!flush(at->second)) clients_.erase(at);
}

bool control_socket::flush(client& to) {
  const auto sent = ::send(to.fd.get(), to.unsent.data(), to.unsent.size(), MSG_NOSIGNAL);
  if (sent < 0) return errno == EAGAIN || errno == EINTR;
  to.unsent.erase(0, static_cast<std::size_t>(sent));
  return !to.unsent.empty();
}

namespace {

// Returns a connection to the launcher of that run folder. Where none can be it is an invalid
// descriptor, and errno says why: EAGAIN, a launcher that lives has not taken those before.
unique_fd connect_in(const std::string& path, int flags) {
  const auto folder = open_folder(path);
  if (!folder) return {};
  unique_fd to(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  const auto address = address_in(folder.get());
  if (!to ||
      ::connect(to.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return {};
  return to;
}

}  // namespace

bool has_launcher(const std::string& folder) {
  if (connect_in(folder, SOCK_NONBLOCK)) return true;
  return errno == EAGAIN || errno == EACCES;  // it is stopped; it is another user's
}

expected<std::string> ask_launcher(const std::string& path, const std::string& line,
                                   const std::function<void()>& waits) {
  const auto nobody = [&](const std::string& why) {
    return fail(errc::unavailable, "no launcher lives in " + path + ": " + why);
  };
  auto to = connect_in(path, SOCK_NONBLOCK);
  const bool is_crowded = !to && errno == EAGAIN;
  if (is_crowded) {
    waits();
    to = connect_in(path, 0);
  }
  if (!to) return nobody(reason());
  ::fcntl(to.get(), F_SETFL, ::fcntl(to.get(), F_GETFL) & ~O_NONBLOCK);
  const auto text = line + "\n";
  if (::send(to.get(), text.data(), text.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(text.size()))
    return nobody(reason());
  pollfd answered{.fd = to.get(), .events = POLLIN, .revents = 0};
  if (!is_crowded && ::poll(&answered, 1, told_after_ms) == 0) waits();
  std::string answer;
  for (;;) {
    char bytes[256];
    const auto got = ::recv(to.get(), bytes, sizeof bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return nobody("it ended before it answered");
    answer.append(bytes, static_cast<std::size_t>(got));
    if (const auto end = answer.find('\n'); end != std::string::npos)
      return answer.substr(0, end);
  }
}

}  // namespace tidegate::launch
