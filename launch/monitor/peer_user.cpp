#include "launch/monitor/peer_user.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sys/socket.h>

namespace tidegate::launch {

namespace {

// As the kernel prints it: words of the address as they lie in memory, then the port.
std::string in_table(const sockaddr_storage& address) {
  std::array<char, 48> text{};
  if (address.ss_family == AF_INET) {
    const auto& inet = reinterpret_cast<const sockaddr_in&>(address);
    std::snprintf(text.data(), text.size(), "%08X:%04X", inet.sin_addr.s_addr,
                  ntohs(inet.sin_port));
  } else if (address.ss_family == AF_INET6) {
    const auto& inet = reinterpret_cast<const sockaddr_in6&>(address);
    const auto& words = inet.sin6_addr.s6_addr32;
    std::snprintf(text.data(), text.size(), "%08X%08X%08X%08X:%04X", words[0], words[1],
                  words[2], words[3], ntohs(inet.sin6_port));
  }
  return text.data();
}

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const auto word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

}  // namespace

std::optional<uid_t> user_in_table(std::string_view table, const std::string& local,
                                   const std::string& remote) {
  while (!table.empty()) {
    auto line = table.substr(0, table.find('\n'));
    table.remove_prefix(std::min(line.size() + 1, table.size()));
    next_word(line);  // its number
    if (next_word(line) != local || next_word(line) != remote) continue;
    constexpr int words_before_user = 4;  // state, queues, timer, retransmissions
    for (int i = 0; i < words_before_user; ++i) next_word(line);
    const auto word = next_word(line);
    uid_t user = 0;
    const auto [end, bad] = std::from_chars(word.data(), word.data() + word.size(), user);
    if (bad == std::errc() && end == word.data() + word.size()) return user;
  }
  return std::nullopt;
}

std::optional<uid_t> user_of_peer(int socket) {
  sockaddr_storage own{}, peer{};
  socklen_t own_size = sizeof own, peer_size = sizeof peer;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_size) != 0 ||
      ::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0)
    return std::nullopt;
  std::ifstream file(own.ss_family == AF_INET6 ? "/proc/net/tcp6" : "/proc/net/tcp");
  const std::string table{std::istreambuf_iterator<char>(file), {}};
  return user_in_table(table, in_table(peer), in_table(own));
}

}  // namespace tidegate::launch
