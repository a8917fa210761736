// Where a running launcher takes requests: a socket in its run folder, for its user. A request
// is a line of text, its answer another, after which the connection ends. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <poll.h>
#include <string>
#include <vector>

#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::launch {

class control_socket {
 public:
  // Errors: io_error (no socket can be in that folder).
  static runtime::expected<control_socket> listen(const std::string& folder);
  control_socket(control_socket&&) = default;
  control_socket& operator=(control_socket&&) = delete;
  ~control_socket();

  void add_to(std::vector<pollfd>& fds) const;
  struct request {
    std::uint32_t from = 0;
    std::string line;
  };
  // Those that have come since. Does not block.
  std::vector<request> take();
  // To one that is gone it goes unheard; what there is no room for goes with later calls of
  // take().
  void answer(std::uint32_t to, const std::string& line);

 private:
  control_socket(runtime::unique_fd folder, runtime::unique_fd listener)
      : folder_(std::move(folder)), listener_(std::move(listener)) {}

  struct client {
    runtime::unique_fd fd;
    std::string text;
    bool asked = false;
    std::string unsent = {};  // of its answer
  };
  // Returns false once there is nothing more to send.
  static bool flush(client& to);
  runtime::unique_fd folder_;
  runtime::unique_fd listener_;
  std::map<std::uint32_t, client> clients_;
  std::uint32_t last_ = 0;
  bool rests_ = false;  // no descriptor is left for another client: the next turn tries again
};

// Returns true if a launcher lives in that run folder. It is not asked, so one that is stopped
// lives, too.
bool has_launcher(const std::string& folder);

// Asks the launcher of that run folder, and waits for its answer for as long as it lives. It
// calls `waits` once if no answer came within two seconds. Errors: unavailable (none lives
// there, or it ended before it answered).
runtime::expected<std::string> ask_launcher(const std::string& folder, const std::string& line,
                                            const std::function<void()>& waits);

}  // namespace tidegate::launch
