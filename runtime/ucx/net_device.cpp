#include "runtime/ucx/net_device.hpp"

#include <arpa/inet.h>
#include <cstring>
#include <filesystem>
#include <ifaddrs.h>
#include <memory>
#include <netdb.h>

namespace tidegate::runtime {

namespace {

bool same(const sockaddr& one, const sockaddr& other) {
  if (one.sa_family != other.sa_family) return false;
  if (one.sa_family == AF_INET)
    return reinterpret_cast<const sockaddr_in&>(one).sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in&>(other).sin_addr.s_addr;
  return one.sa_family == AF_INET6 &&
         std::memcmp(&reinterpret_cast<const sockaddr_in6&>(one).sin6_addr,
                     &reinterpret_cast<const sockaddr_in6&>(other).sin6_addr,
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
  for (const auto* one = listed; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) continue;
    for (const auto* wanted = resolved; wanted != nullptr; wanted = wanted->ai_next)
      if (same(*one->ifa_addr, *wanted->ai_addr)) return std::string(one->ifa_name);
    if (one->ifa_addr->sa_family == AF_INET)
      names += (names.empty() ? "" : ", ") + std::string(one->ifa_name);
  }
  return fail(errc::not_found, "no interface of this host has the address " + address +
                                   " (cluster.hosts); there are: " + names);
}

bool has_rdma_device() {
  std::error_code none;
  std::filesystem::directory_iterator devices("/sys/class/infiniband", none);
  return !none && devices != std::filesystem::directory_iterator();
}

}  // namespace tidegate::runtime
