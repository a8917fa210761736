#include "launch/run/patience.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <iostream>
#include <poll.h>
#include <sys/file.h>

#include "policies/model/millisecond.hpp"
#include "policies/placement/hosts.hpp"
#include "runtime/base/unix_time.hpp"
#include "runtime/sockets/tcp_socket.hpp"

namespace tidegate::launch {

namespace {

using runtime::errc;
using runtime::status;

constexpr int pause_ms = 250;

// Asks again while the answer is what `waits` says, or until the time is over.
template <class Answer>
Answer await(std::uint32_t patience_ms, const std::function<Answer()>& ask,
             const std::function<std::string(const Answer&)>& waits) {
  const auto until = runtime::steady_now() + std::int64_t{patience_ms} * policies::millisecond;
  for (bool is_told = false;; is_told = true) {
    auto answer = ask();
    const auto for_it = waits(answer);
    if (for_it.empty() || runtime::steady_now() >= until) return answer;
    if (!is_told) std::cout << "tidegate: waits: " << for_it << std::endl;
    ::poll(nullptr, 0, pause_ms);
  }
}

status find_addresses(const policies::host_spec& host) {
  for (const auto& address : policies::addresses_of(host))
    if (const auto found = runtime::resolve(address, 0); !found)
      return {found.error().code(), "host " + host.name + ": " + found.error().message()};
  return {};
}

}  // namespace

status await_names(const policies::cluster_spec& spec, std::uint32_t patience_ms) {
  if (patience_ms == 0) return {};
  return await<status>(
      patience_ms,
      [&] {
        for (const auto& host : spec.hosts)
          if (auto known = find_addresses(host); !known.ok()) return known;
        return status();
      },
      [](const status& known) { return known.ok() ? std::string() : known.message(); });
}

runtime::expected<runtime::unique_fd> lock_as_launcher(const std::string& folder, mode_t mode,
                                                       std::uint32_t patience_ms) {
  using lock = runtime::expected<runtime::unique_fd>;
  const auto path = folder + "/launcher.lock";
  return await<lock>(
      patience_ms,
      [&]() -> lock {
        runtime::unique_fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, mode));
        if (!fd) return runtime::fail(errc::io_error, path + ": " + std::strerror(errno));
        if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
        if (errno == EWOULDBLOCK) return runtime::unique_fd();
        return runtime::fail(errc::io_error,
                             path + " cannot be locked: " + std::strerror(errno) +
                                 ": mount its file system with locks (flock), so that two "
                                 "launchers do not write there at once");
      },
      [&](const lock& taken) {
        return taken && !*taken ? "another launcher has " + folder : std::string();
      });
}

}  // namespace tidegate::launch
