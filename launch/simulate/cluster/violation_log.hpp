// What the checkers of a simulated cluster have found. One thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tidegate::sim {

struct violation {
  std::string promise;  // "exactly once", "staleness", ...
  std::string message;
};

class violation_log {
 public:
  void fail(std::string promise, std::string message) {
    found_.push_back({std::move(promise), std::move(message)});
  }
  const std::vector<violation>& all() const noexcept { return found_; }

 private:
  std::vector<violation> found_;
};

}  // namespace tidegate::sim
