// events.jsonl, to which the launcher of a run and `tidegate chaos` append: no line has an
// earlier time than the line before it, whoever wrote that. What is heard of late keeps the
// time when it happened beside it (event_line() in result.hpp). One thread per object; writers
// of several processes take turns by a lock of the file, each for one line.
#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>

#include "policies/model/cluster_status.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::launch {

class event_log {
 public:
  event_log() = default;
  // `flags` are added to those of open(2), as O_CREAT is. Errors: io_error.
  static runtime::expected<event_log> open(const std::string& path, int flags);

  // Errors: io_error; a part of the line may then be in the file.
  runtime::status append(const policies::cluster_event& event);

 private:
  runtime::status append_alone(const policies::cluster_event& event);
  runtime::status failure(const char* why) const;
  // The time of the last whole line before `end`; 0 without such a line.
  std::int64_t time_of_last_line(off_t end) const;

  std::string path_;
  runtime::unique_fd fd_;
  off_t end_ = 0;             // of the file, after this object's last line
  std::int64_t last_ns_ = 0;  // the time of the line before `end_`
};

}  // namespace tidegate::launch
