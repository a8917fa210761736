// Connects to the launcher on a thread of its own, so that an agent waits for nothing. All
// calls from one thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "launch/agents/agent_door.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::launch {

class connector {
 public:
  connector(const agent_links& links, std::string host, std::uint16_t port,
            const agent_link_options& options);
  // Waits for an attempt under way: some seconds at most.
  ~connector();

  // Precondition: take() has returned the result of the attempt before.
  void start();
  int fd() const noexcept { return wake_.get(); }  // readable when take() has a result
  // Returns the result of an attempt, once.
  std::optional<runtime::expected<runtime::unique_fd>> take();

 private:
  const agent_links& links_;
  std::string host_;
  std::uint16_t port_;
  agent_link_options options_;
  runtime::unique_fd wake_;
  std::mutex mutex_;  // guards result_
  std::optional<runtime::expected<runtime::unique_fd>> result_;
  std::thread thread_;
};

}  // namespace tidegate::launch
