#include "launch/agents/own_address.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <sys/socket.h>

#include "runtime/base/unique_fd.hpp"

namespace tidegate::launch {

namespace {

// A datagram socket that is connected has an address, and has sent nothing.
runtime::expected<std::string> source_for(const addrinfo& to) {
  const auto failed = [](const char* why) {
    return runtime::fail(runtime::errc::unavailable, why);
  };
  const runtime::unique_fd probe(::socket(to.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!probe || ::connect(probe.get(), to.ai_addr, to.ai_addrlen) != 0)
    return failed(std::strerror(errno));
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  auto* address = reinterpret_cast<sockaddr*>(&own);
  std::array<char, NI_MAXHOST> text{};
  if (::getsockname(probe.get(), address, &size) != 0 ||
      ::getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0)
    return failed("it has no address of its own there");
  return std::string(text.data());
}

}  // namespace

runtime::expected<std::string> own_address_towards(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  constexpr const char* discard = "9";
  const int code = ::getaddrinfo(host.c_str(), discard, &hints, &found);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
  std::string why = code == 0 ? "it has none" : ::gai_strerror(code);
  for (const auto* to = all.get(); to != nullptr; to = to->ai_next) {
    auto own = source_for(*to);
    if (own) return own;
    why = own.error().message();
  }
  return runtime::fail(runtime::errc::unavailable, "its address '" + host + "': " + why);
}

}  // namespace tidegate::launch
