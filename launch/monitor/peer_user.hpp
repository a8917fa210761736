// Which user of this host is at the other end of a connection over loopback.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace tidegate::launch {

// Returns the user of the socket with that local and remote address, as a line of `table`
// (/proc/net/tcp or tcp6) has them: "0100007F:1F90". Returns nullopt if it has no such line.
// Pure, any thread.
std::optional<uid_t> user_in_table(std::string_view table, const std::string& local,
                                   const std::string& remote);

// Returns the user whose process has connected to this socket; nullopt for one of another host,
// and where the system does not say. Any thread.
std::optional<uid_t> user_of_peer(int socket);

}  // namespace tidegate::launch
