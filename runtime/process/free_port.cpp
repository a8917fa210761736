#include "runtime/process/free_port.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include "runtime/base/unique_fd.hpp"

namespace tidegate::runtime {

std::uint16_t free_port() {
  const unique_fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t bytes = sizeof address;
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  if (!socket || ::bind(socket.get(), name, bytes) != 0 ||
      ::getsockname(socket.get(), name, &bytes) != 0)
    return 0;
  return ntohs(address.sin_port);
}

}  // namespace tidegate::runtime
