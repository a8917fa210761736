#include "launch/run/patience.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <iostream>
#include <memory>
#include <netdb.h>
#include <poll.h>
#include <sys/file.h>

#include "policies/model/millisecond.hpp"
#include "runtime/base/unique_fd.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::launch {

namespace {

using runtime::errc;
using runtime::status;

constexpr int pause_ms = 250;

// Asks again until it is well, or the time is over; says once that it waits.
status await(std::uint32_t within_ms, const std::function<status()>& ask) {
  const auto until = runtime::steady_now() + std::int64_t{within_ms} * policies::millisecond;
  for (bool is_told = false;; is_told = true) {
    auto now = ask();
    if (now.ok() || runtime::steady_now() >= until) return now;
    if (!is_told) std::cout << "tidegate: waits: " << now.message() << std::endl;
    ::poll(nullptr, 0, pause_ms);
  }
}

status find_address(const policies::host_spec& host) {
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(host.address.c_str(), nullptr, nullptr, &found);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
  if (code == 0) return {};
  return {errc::unavailable, "host " + host.name + ": its address '" + host.address +
                                 "' is not known: " + ::gai_strerror(code)};
}

}  // namespace

status await_names(const policies::cluster_spec& spec, std::uint32_t within_ms) {
  return await(within_ms, [&] {
    for (const auto& host : spec.hosts)
      if (!host.address.empty())
        if (auto known = find_address(host); !known.ok()) return known;
    return status();
  });
}

status await_launcher(const std::string& run_dir, std::uint32_t within_ms) {
  const auto path = run_dir + "/launcher.lock";
  return await(within_ms, [&]() -> status {
    const runtime::unique_fd lock(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!lock && errno == ENOENT) return {};
    if (!lock) return {errc::io_error, path + ": " + std::strerror(errno)};
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return {};
    return {errc::already_exists, run_dir + ": another launcher has it"};
  });
}

}  // namespace tidegate::launch
