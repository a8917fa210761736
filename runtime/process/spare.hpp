// How a warm spare gets its place: a socket between the launcher and a process that it has
// started before there is a place for it. The process says that it waits; the launcher answers
// with the variables and descriptors that the process would have begun with.
//
// One message each way. A launcher that is gone, or that has no use for the spare, closes the
// socket.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/launch_variables.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::runtime {

// Names the descriptor of the spare's end in its environment. Set by the launcher.
inline constexpr const char* spare_variable = "TIDEGATE_SPARE_FD";

struct spare_place {
  launch_variables variables;
  // Descriptors that variables name: each is put where "{}" stands in the value, under the
  // number that it has in the process.
  std::vector<std::pair<std::string, int>> descriptors;
  // Where output goes from now on.
  int output = -1;
};

// The launcher's end. One thread.
class spare_channel {
 public:
  // Makes both ends; the second is for the process to inherit. Errors: io_error (no more
  // descriptors).
  static expected<std::pair<spare_channel, unique_fd>> make();

  // Returns true if the process has said that it waits; a second call returns false.
  bool take_ready();
  // Gives the process its place, whether it waits already or not. The descriptors stay open
  // here. Errors: unavailable (the process has ended), io_error.
  status give(const spare_place& place);
  // Readable when the process says that it waits, or has ended.
  int fd() const noexcept { return socket_.get(); }

 private:
  explicit spare_channel(unique_fd socket) noexcept : socket_(std::move(socket)) {}

  unique_fd socket_;
  bool was_ready_ = false;
};

// Returns true if this process was started as a spare and has no place yet.
bool is_spare() noexcept;
// Waits for this process's place and takes its variables (launch_variables.hpp) and its output.
// Returns at once in a process that is no spare or has its place. `interrupted`, if given, is
// asked about ten times a second and ends the wait when it returns true. Errors: cancelled
// (interrupted, or there will be no place), io_error. To be called by one thread, before
// anything reads launch variables.
status await_place(const std::function<bool()>& interrupted);

}  // namespace tidegate::runtime
