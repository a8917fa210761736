// The pipe by which the coordinator of a run says that it listens: a line with its port. One
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <poll.h>
#include <string>
#include <vector>

#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::launch {

class ready_pipe {
 public:
  // Makes another pipe in place of the one before. Returns the end for the coordinator to
  // inherit. Errors: io_error.
  runtime::expected<runtime::unique_fd> open();
  // Forgets the pipe, and what has come out of it.
  void close();
  // Adds a descriptor that becomes readable when the coordinator has said something, or ends.
  void add_to(std::vector<pollfd>& fds) const;
  // Returns what the coordinator has said, once: its port, or (port 0) why it is unusable.
  // Does not block.
  struct word {
    std::uint16_t port = 0;
    std::string unusable;
  };
  std::optional<word> read();

 private:
  runtime::unique_fd read_end_;  // until the line has come
  std::string text_;
};

}  // namespace tidegate::launch
