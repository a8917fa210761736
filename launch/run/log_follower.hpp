// What workers write while a run goes on, line by line: `tidegate launch --follow`.
//
// The launcher gives each worker a log file as its output. This reads what is added to those
// files; a kernel watch on their folder (inotify) says when to look. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::launch {

class log_follower {
 public:
  // `folder`: where the logs are. Errors: io_error (no more watches, or no such folder).
  static runtime::expected<log_follower> in(const std::string& folder);

  // Lines of this file are shown as "[label] line", from this byte on; without one from its
  // present end. A file that is followed already goes on; one that is not there yet is followed
  // once it is.
  void follow(const std::string& path, const std::string& label,
              std::optional<std::uint64_t> from = std::nullopt);

  // Readable when a log has grown.
  int fd() const noexcept { return watch_.get(); }
  // Returns the lines that were completed since the last call, those of one file in order.
  std::vector<std::string> take_lines();
  // Likewise at the end of the run, with what stands at the end of a file without a newline.
  std::vector<std::string> take_rest();

 private:
  struct followed_file {
    std::string path;
    std::string label;
    std::uint64_t position = 0;  // bytes read
    std::string begun;           // of a line without an end
  };

  explicit log_follower(runtime::unique_fd watch) : watch_(std::move(watch)) {}
  void read(followed_file& file, std::vector<std::string>& lines);

  runtime::unique_fd watch_;
  std::vector<followed_file> files_;
};

}  // namespace tidegate::launch
