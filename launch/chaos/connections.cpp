#include "launch/chaos/connections.hpp"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <dirent.h>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "runtime/base/unique_fd.hpp"

namespace tidegate::chaos {

namespace {

using runtime::errc;
using runtime::expected;
using runtime::fail;
using runtime::status;
using runtime::unique_fd;

// An established connection of a process. Addresses are as /proc/net/tcp writes them.
struct connection {
  std::string local;
  std::string remote;
  std::string inode;    // of the socket
  int descriptor = -1;  // of the process
};

struct closing {
  void operator()(DIR* open) const { ::closedir(open); }
};

status not_possible(pid_t process, const std::string& action) {
  const auto code = errno == ESRCH || errno == ENOENT   ? errc::not_found
                    : errno == EPERM || errno == EACCES ? errc::refused
                                                        : errc::io_error;
  return {code,
          action + " of process " + std::to_string(process) + ": " + std::strerror(errno)};
}

// Its sockets: descriptors by inode.
expected<std::map<std::string, int>> sockets_of(pid_t process) {
  const auto folder = "/proc/" + std::to_string(process) + "/fd";
  const std::unique_ptr<DIR, closing> open(::opendir(folder.c_str()));
  if (!open) return fail(not_possible(process, "reading the descriptors"));
  std::map<std::string, int> found;
  while (const auto* entry = ::readdir(open.get())) {
    const std::string_view name(entry->d_name);
    int descriptor = -1;
    if (std::from_chars(name.data(), name.data() + name.size(), descriptor).ec != std::errc())
      continue;
    char target[64];
    const auto length =
        ::readlink((folder + "/" + entry->d_name).c_str(), target, sizeof target);
    const std::string_view link(target, length < 0 ? 0 : static_cast<std::size_t>(length));
    constexpr std::string_view prefix = "socket:[";
    if (link.starts_with(prefix) && link.ends_with("]"))
      found[std::string(link.substr(prefix.size(), link.size() - prefix.size() - 1))] =
          descriptor;
  }
  return found;
}

// An IPv4 address within IPv6 as the former is written.
std::string plain(const std::string& address) {
  constexpr std::string_view mapped = "0000000000000000FFFF0000";
  return address.starts_with(mapped) ? address.substr(mapped.size()) : address;
}

expected<std::vector<connection>> connections_of(pid_t process) {
  const auto sockets = sockets_of(process);
  if (!sockets) return fail(sockets.error());
  std::vector<connection> found;
  for (const auto* table : {"tcp", "tcp6"}) {
    std::ifstream lines("/proc/" + std::to_string(process) + "/net/" + table);
    std::string line;
    std::getline(lines, line);  // the heading
    while (std::getline(lines, line)) {
      std::istringstream fields(line);
      std::string number, local, remote, state, skipped, inode;
      fields >> number >> local >> remote >> state;
      for (int i = 0; i < 5; ++i) fields >> skipped;  // queues, timers, owner, time-out
      fields >> inode;
      const auto socket = sockets->find(inode);
      constexpr std::string_view established = "01";
      if (state == established && socket != sockets->end())
        found.push_back({.local = plain(local),
                         .remote = plain(remote),
                         .inode = inode,
                         .descriptor = socket->second});
    }
  }
  return found;
}

// Returns a descriptor here of the connection; nothing if it has ended since it was listed,
// even if its number is another socket's now.
expected<std::optional<unique_fd>> take(int handle, pid_t process, const connection& listed) {
  unique_fd taken(static_cast<int>(::syscall(SYS_pidfd_getfd, handle, listed.descriptor, 0)));
  if (!taken && errno == EBADF) return std::nullopt;
  if (!taken) return fail(not_possible(process, "taking a descriptor"));
  struct stat found {};
  if (::fstat(taken.get(), &found) != 0 || std::to_string(found.st_ino) != listed.inode)
    return std::nullopt;
  return std::optional(std::move(taken));
}

}  // namespace

// All are taken before the first is shut down: a process that has lost one of two connections
// may close the other.
expected<std::size_t> cut_connections(pid_t process, pid_t other) {
  const unique_fd handle(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  if (!handle) return fail(not_possible(process, "opening"));
  const auto here = connections_of(process);
  if (!here) return fail(here.error());
  const auto there = connections_of(other);
  if (!there) return fail(there.error());
  std::vector<unique_fd> between;
  for (const auto& mine : *here)
    for (const auto& theirs : *there)
      if (mine.local == theirs.remote && mine.remote == theirs.local) {
        auto taken = take(handle.get(), process, mine);
        if (!taken) return fail(taken.error());
        if (*taken) between.push_back(std::move(**taken));
      }
  for (const auto& socket : between)
    if (::shutdown(socket.get(), SHUT_RDWR) != 0 && errno != ENOTCONN)
      return fail(not_possible(process, "shutting down a connection"));
  return between.size();
}

}  // namespace tidegate::chaos
