// How agents of hosts reach their launcher: the seam to connections that have proven the run's
// token. The program binds it to the control plane's; tests may bind it to their own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "policies/protocol/agent_messages.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::launch {

struct agent_link_options {
  std::uint64_t token = 0;  // of the run
  // What was sent and not acknowledged for so long ends the connection.
  std::uint32_t unreachable_ms = 10'000;
  bool encrypt = false;               // security.encrypt
  const char* listener = "launcher";  // what listens there, the same to both ends
};

// Where the launcher takes agents in, or an agent those of other hosts. One thread.
class agent_door {
 public:
  virtual ~agent_door() = default;
  virtual std::uint16_t port() const = 0;
  // Readable when take() has something to return.
  virtual int fd() const = 0;
  // Returns a proven connection, which does not block; empty: nobody has come.
  virtual runtime::unique_fd take() = 0;
};

struct agent_links {
  // Listens at this address alone; `port` 0: the system chooses. Errors: unavailable, io_error.
  std::function<runtime::expected<std::unique_ptr<agent_door>>(
      const std::string& host, std::uint16_t port, const agent_link_options& options)>
      listen;
  // Returns a proven connection to a launcher, which does not block. Blocks for some seconds at
  // most. Errors: unavailable (nobody answers there, or not this run's launcher), io_error.
  std::function<runtime::expected<runtime::unique_fd>(
      const std::string& host, std::uint16_t port, const agent_link_options& options)>
      connect;
  // Connects to all agents, which prove the token, and returns those that were not reached.
  // Blocks for some seconds at most, and until `stop` is readable.
  std::function<std::vector<policies::unreached_host>(
      const std::vector<policies::peer_place>& peers, std::uint64_t token, int stop)>
      reach;
};

}  // namespace tidegate::launch
