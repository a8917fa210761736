// What is wrong with a configuration, and where. All problems are collected, never only the
// first. Plain values, any thread.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/status.hpp"

namespace tidegate::launch {

// A place in a file (line and column from 1), or a `--set` argument (line 0).
struct place {
  std::string source;  // the file's name, or "--set path=value"
  int line = 0;
  int column = 0;

  bool from_set() const noexcept { return line == 0; }
  // "cluster.yaml:3:5" or "--set jobs.mlp.workers=0"
  std::string to_string() const;
};

struct problem {
  place where;
  std::string message;  // one line: what is wrong; what is allowed
};

class problems {
 public:
  void add(const place& where, std::string subject) {
    list_.push_back({where, std::move(subject)});
  }

  bool empty() const noexcept { return list_.empty(); }
  std::size_t size() const noexcept { return list_.size(); }

  // One line each, `place: what`, in the order of the file, --set last.
  std::string to_string() const;
  // ok when there are none, else invalid_argument with to_string().
  runtime::status to_status() const;

 private:
  std::vector<problem> list_;
};

}  // namespace tidegate::launch
