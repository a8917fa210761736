// What happened in a simulated cluster, as text for people and as a Chrome trace (chrome://
// tracing, Perfetto). Off unless asked for. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/simulate/cluster/schedule.hpp"

namespace tidegate::sim {

class trace {
 public:
  void turn_on() { on_ = true; }
  bool on() const noexcept { return on_; }

  void note(nanoseconds when, const std::string& name, const std::string& subject) {
    if (on_) lines_.push_back({when, name, subject});
  }

  std::string text() const;
  std::string chrome_json() const;

 private:
  struct line {
    nanoseconds when = 0;
    std::string process;
    std::string text;
  };
  bool on_ = false;
  std::vector<line> lines_;
};

}  // namespace tidegate::sim
