// Lines over TCP on 127.0.0.1; for the fake cluster only.
#pragma once

#include <arpa/inet.h>
#include <cstdint>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

namespace tidegate::launch::wire {

inline sockaddr_in local(std::uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// -1 when nobody listens.
inline int dial(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto address = local(port);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return fd;
  ::close(fd);
  return -1;
}

// The port that was given by the system.
inline int listen(std::uint16_t& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto address = local(0);
  socklen_t size = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  if (::bind(fd, plain, size) != 0 || ::listen(fd, 64) != 0) return -1;
  ::getsockname(fd, plain, &size);
  port = ntohs(address.sin_port);
  return fd;
}

inline void send(int fd, const std::string& line) {
  const auto text = line + "\n";
  (void)::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
}

// Empty at the end of the stream.
inline std::string receive(int fd) {
  std::string line;
  char c = 0;
  while (::read(fd, &c, 1) == 1 && c != '\n') line += c;
  return line;
}

}  // namespace tidegate::launch::wire
