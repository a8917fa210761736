// Reads metrics.1.jsonl and metrics.jsonl of a run folder into a history, some bytes at a time,
// and goes on where it was: also when the launcher begins a new file. One thread.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "launch/page/run_history.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::launch {

class history_reader {
 public:
  explicit history_reader(std::string run_dir) : run_dir_(std::move(run_dir)) {}

  // Reads so many bytes at most. Returns true if all that is there has been read.
  bool read(std::size_t bytes_most);
  const run_history& history() const noexcept { return history_; }
  // Why a file could not be read; empty: no file failed. A file that is not there yet has not.
  const std::string& failure() const noexcept { return failure_; }

 private:
  bool open_next();
  bool is_the_newest() const;
  void take(const char* bytes, std::size_t size);
  void end_line();

  std::string run_dir_;
  runtime::unique_fd file_;
  runtime::unique_fd read_;  // the last file that was read to its end; nobody gets its number
  std::string line_;
  bool is_too_long_ = false;  // the line
  run_history history_;
  std::string failure_;
};

}  // namespace tidegate::launch
