#include "runtime/ucx/net_device.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <thread>

#include "runtime/base/unique_fd.hpp"

namespace tidegate::runtime {

namespace {

bool same(const sockaddr& left, const sockaddr& right) {
  if (left.sa_family != right.sa_family) return false;
  if (left.sa_family == AF_INET)
    return reinterpret_cast<const sockaddr_in&>(left).sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in&>(right).sin_addr.s_addr;
  return left.sa_family == AF_INET6 &&
         std::memcmp(&reinterpret_cast<const sockaddr_in6&>(left).sin6_addr,
                     &reinterpret_cast<const sockaddr_in6&>(right).sin6_addr,
                     sizeof(in6_addr)) == 0;
}

}  // namespace

expected<std::string> device_of(const std::string& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* resolved = nullptr;
  if (const int code = ::getaddrinfo(address.c_str(), nullptr, &hints, &resolved); code != 0)
    return fail(errc::invalid_argument,
                "the address '" + address + "' of this host: " + ::gai_strerror(code));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(resolved, &::freeaddrinfo);
  ifaddrs* listed = nullptr;
  if (::getifaddrs(&listed) != 0)
    return fail(errc::not_found, std::string("no interfaces: ") + std::strerror(errno));
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> interfaces(listed, &::freeifaddrs);
  std::string names;
  for (const auto* entry = listed; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    for (const auto* wanted = resolved; wanted != nullptr; wanted = wanted->ai_next)
      if (same(*entry->ifa_addr, *wanted->ai_addr)) return std::string(entry->ifa_name);
    if (entry->ifa_addr->sa_family == AF_INET)
      names += (names.empty() ? "" : ", ") + std::string(entry->ifa_name);
  }
  return fail(errc::not_found, "no interface of this host has the address " + address +
                                   " (cluster.hosts); there are: " + names);
}

bool device_runs(const std::string& device) {
  const unique_fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq asked{};
  device.copy(asked.ifr_name, sizeof asked.ifr_name - 1);
  if (::ioctl(socket.get(), SIOCGIFFLAGS, &asked) != 0) return false;
  constexpr int running = IFF_UP | IFF_RUNNING;
  return (asked.ifr_flags & running) == running;
}

status wait_for_device(const std::string& device, std::uint32_t limit_ms) {
  using std::chrono::milliseconds;
  using std::chrono::steady_clock;
  const auto deadline = steady_clock::now() + milliseconds(limit_ms);
  while (!device_runs(device)) {
    if (steady_clock::now() >= deadline)
      return {errc::unavailable, "the interface " + device + " of this host is down for " +
                                     std::to_string(limit_ms) +
                                     " ms; bring it up, or give the host another address "
                                     "(cluster.hosts)"};
    std::this_thread::sleep_for(milliseconds(10));  // the kernel's flag is all there is to read
  }
  return {};
}

bool has_rdma_device() {
  std::error_code none;
  std::filesystem::directory_iterator devices("/sys/class/infiniband", none);
  return !none && devices != std::filesystem::directory_iterator();
}

}  // namespace tidegate::runtime
