// Which sockets of a link over streams are ready, and a timer among them: epoll, and names for
// what it tells. One reactor thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <sys/epoll.h>

#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::runtime {

enum class stream_kind : std::uint32_t { listener, timer, outgoing, incoming };

struct stream_event {
  stream_kind kind = stream_kind::listener;
  std::uint32_t index = 0;     // of its kind
  std::uint32_t happened = 0;  // EPOLLIN and the like
};

class stream_events {
 public:
  // Errors: over_limit (no descriptor is left).
  status open();
  // Returns what is readable while there is something to look at.
  int fd() const noexcept { return events_.get(); }

  // Says when this socket can be read, and if `writes`, written; level-triggered. Returns false
  // if the system cannot (errno).
  bool add(int socket, stream_kind kind, std::uint32_t index, bool writes);
  // Changes under which name the socket is told of, and whether it is when it can be written.
  void watch(int socket, stream_kind kind, std::uint32_t index, bool writes);
  // The socket stays open, and is told of no more.
  void pause(int socket, stream_kind kind, std::uint32_t index);
  void remove(int socket) noexcept;
  // Has an event of the timer come at this time (steady_now()); nothing: none comes.
  void set_timer(std::optional<std::int64_t> at);

  // Returns how many events there are, without waiting; event(i) says which.
  unsigned look();
  stream_event event(unsigned i) const;

 private:
  static constexpr std::size_t events_most = 64;

  unique_fd events_;
  unique_fd timer_;
  std::optional<std::int64_t> timer_at_;
  std::array<epoll_event, events_most> happened_{};
};

}  // namespace tidegate::runtime
