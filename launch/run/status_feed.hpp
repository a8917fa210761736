// The status of a run again and again, for whoever must not wait for its launcher: one that is
// stopped does not answer.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/base/status.hpp"

namespace tidegate::launch {

class status_feed {
 public:
  // Asks once in a second, on a thread of its own, which is left behind when nobody looks any
  // more.
  explicit status_feed(const std::string& run_dir);
  ~status_feed();
  status_feed(const status_feed&) = delete;
  status_feed& operator=(const status_feed&) = delete;

  struct newest_answer {
    std::optional<runtime::expected<std::string>> status;  // as of read_status(); none yet
    bool has_ended = false;                                // it is of a run that has ended
    double age_seconds = 0;
  };
  // Any thread.
  newest_answer newest() const;

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace tidegate::launch
