// The line between a worker that keeps state and the agent of its host: the worker asks that
// what its memory has now be copied to the launcher, and hears when that is done. A pair of
// sockets, of which the worker inherits an end. An answer is a request of which the number
// counts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "runtime/base/mirror_request.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::runtime {

// "FD:CLOCKS": the descriptor of the worker's end, and how often versions are copied. Set by
// the agent.
inline constexpr const char* mirror_variable = "TIDEGATE_STATE_MIRROR";
std::string mirror_text(int fd, std::uint64_t every);

// The agent's end. One thread; nothing here waits.
class mirror_channel {
 public:
  // Returns the two ends; the other one is the worker's. Errors: io_error.
  static expected<std::pair<mirror_channel, unique_fd>> make();

  int fd() const noexcept { return fd_.get(); }
  // Returns the next request, if one is there. Closes the channel once the worker's end is
  // gone.
  std::optional<mirror_request> read();
  bool is_open() const noexcept { return static_cast<bool>(fd_); }
  // Tells the worker that all requests up to this number are carried out.
  void answer(std::uint64_t number);

 private:
  explicit mirror_channel(unique_fd fd) : fd_(std::move(fd)) {}

  unique_fd fd_;
};

// The worker's end. ask() and end(): any thread.
class mirror_line {
 public:
  // That of this process, as its environment says, or null: versions are not copied. Errors:
  // unavailable (the descriptor did not come through).
  static expected<std::shared_ptr<mirror_line>> of_process();
  mirror_line(unique_fd fd, std::uint64_t every) : fd_(std::move(fd)), every_(every) {}

  // Versions of how many clocks to copy one of.
  std::uint64_t every() const noexcept { return every_; }
  void ask(mirror_request request);
  // Waits for an answer, and returns its number; nothing once the line has ended.
  std::optional<std::uint64_t> await_answer();
  void end();

 private:
  unique_fd fd_;
  std::uint64_t every_;
};

// Waits for answers, as long as this lives: calls hears(number) for each, on a thread of its
// own.
class mirror_listener {
 public:
  mirror_listener(std::shared_ptr<mirror_line> line, std::function<void(std::uint64_t)> hears);
  ~mirror_listener();
  mirror_listener(const mirror_listener&) = delete;
  mirror_listener& operator=(const mirror_listener&) = delete;

 private:
  std::shared_ptr<mirror_line> line_;
  std::function<void(std::uint64_t)> hears_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace tidegate::runtime
