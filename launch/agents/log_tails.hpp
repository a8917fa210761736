// What processes of a host have written into their logs since it was last told, where the
// launcher does not see these logs. A kernel watch on their folder (inotify) says when to look.
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "policies/protocol/agent_messages.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::launch {

class log_tails {
 public:
  // `folder`: where the logs are; all is news. Errors: io_error.
  static runtime::expected<log_tails> in(const std::string& folder);

  // Readable when a log has grown.
  int fd() const noexcept { return watch_.get(); }
  // Appends what is new, `bytes_max` of it at most; the rest comes with the next call.
  void take(std::size_t bytes_max, std::vector<policies::agent_report>& into);
  // Returns true if take() has left something.
  bool has_more() const noexcept { return has_more_; }

 private:
  log_tails(std::string folder, runtime::unique_fd watch)
      : folder_(std::move(folder)), watch_(std::move(watch)) {}
  // Returns how many bytes it has appended.
  std::size_t take_of(const std::string& file, std::size_t bytes_max,
                      std::vector<policies::agent_report>& into);

  std::string folder_;
  runtime::unique_fd watch_;
  std::map<std::string, std::uint64_t> positions_;  // bytes that were told, by file
  bool has_more_ = true;                            // nobody has looked yet
};

}  // namespace tidegate::launch
