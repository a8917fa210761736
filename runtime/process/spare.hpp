// How a warm spare gets its place: a socket between the launcher and a process that it has
// started before there is a place for it. The process says that it waits; the launcher answers
// with the variables and descriptors that the process would have begun with.
//
// A process that has one thread and no files of its own may be asked for copies of itself,
// which wait for places of theirs: children of the launcher, by two forks, as those of the
// launcher are that it has started.
//
// A launcher that is gone, or that has no use for the spare, closes the socket.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>
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
  // Where output goes from now on; -1: where it went.
  int output = -1;
};

// What a process says when it waits. `pid` is as the launcher sees it.
struct spare_word {
  pid_t pid = -1;
  bool can_copy = false;
};

// The launcher's end. One thread.
class spare_channel {
 public:
  // Makes both ends; the second is for the process. Errors: io_error (no more descriptors).
  static expected<std::pair<spare_channel, unique_fd>> make();

  // Returns what the process has said, once.
  std::optional<spare_word> take_word();
  // Returns true if nobody has the other end any more.
  bool is_closed() const;
  // Gives the process its place, whether it waits already or not. The descriptors stay open
  // here. Errors: unavailable (the process has ended), io_error.
  status give(const spare_place& place);
  // Asks the process for a copy of itself, which gets `end` of another channel. Errors: as
  // give().
  status ask_for_copy(int end);
  // Readable when the process says that it waits, or has ended.
  int fd() const noexcept { return socket_.get(); }

 private:
  explicit spare_channel(unique_fd socket) noexcept : socket_(std::move(socket)) {}
  status send(const std::string& text, const std::vector<int>& descriptors);

  unique_fd socket_;
  bool has_spoken_ = false;
};

// Makes orphans children of this process, the launcher of spares that copy themselves.
void adopt_orphans();

struct spare_options {
  // Asked about ten times a second; ends the wait when it returns true.
  std::function<bool()> interrupted;
  // Copies may be made. `fork` does what fork() does, as the program's language has it.
  bool may_copy = true;
  std::function<pid_t()> fork;
};

// Returns true if this process was started as a spare and has no place yet.
bool is_spare() noexcept;
// Waits for this process's place and takes its variables (launch_variables.hpp) and its output.
// Returns at once in a process that is no spare or has its place. Returns in copies of the
// process as in itself, each with a place of its own. Errors: cancelled (interrupted, or there
// will be no place), io_error. To be called by one thread, before anything reads launch
// variables.
status await_place(const spare_options& options);

}  // namespace tidegate::runtime
