// Connections under TLS for those who know plain sockets alone: a thread of the process carries
// bytes between each TLS connection and one end of a pair of sockets, whose other end its user
// has. What the user writes is sent under TLS, what comes is there to be read, and when either
// side ends the connection, the other sees its end after all bytes before it. Any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <sys/types.h>
#include <thread>
#include <vector>

#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"
#include "runtime/sockets/tls_channel.hpp"

namespace tidegate::runtime {

class tls_tunnels {
 public:
  // The tunnels of this process; its thread starts with the first one, and ends with the
  // process when all that users have written is sent, or `farewell_ms` later.
  static tls_tunnels& of_process();
  static constexpr int farewell_ms = 1000;

  tls_tunnels();
  tls_tunnels(const tls_tunnels&) = delete;
  tls_tunnels& operator=(const tls_tunnels&) = delete;
  ~tls_tunnels();

  // Takes a connection over, whose peer may prove itself later. Returns the end for its user,
  // which does not block. `peer`: for logs. Errors: io_error (no descriptor).
  expected<unique_fd> add(tls_channel channel, const std::string& peer);

 private:
  struct tunnel;

  status start();
  void run();
  void take_added();
  bool step(tunnel& moving);
  void watch(tunnel& moving);
  void end(std::unique_ptr<tunnel>& over);
  bool is_done() const;

  std::mutex mutex_;  // of added_ and ends_
  std::deque<std::unique_ptr<tunnel>> added_;
  bool ends_ = false;
  unique_fd wake_;
  unique_fd events_;
  std::vector<std::unique_ptr<tunnel>> tunnels_;  // of the thread; null: free
  pid_t process_ = 0;                             // that has the thread
  std::thread thread_;
};

}  // namespace tidegate::runtime
