// The pipe by which the coordinator of a run says that it listens: a line with its port. One
// thread.
#pragma once

#include <cstdint>
#include <poll.h>
#include <string>
#include <vector>

#include "launch/shell/run_shell.hpp"
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
  // Takes in what the coordinator has said since: `into` has that it is ready, or why it is
  // unusable. Returns its port when it has become ready, else 0. Does not block.
  std::uint16_t read(run_turn& into);

 private:
  runtime::unique_fd read_end_;  // until the line has come
  std::string text_;
};

}  // namespace tidegate::launch
