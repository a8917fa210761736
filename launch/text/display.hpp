// Standard output of the launcher: lines redrawn in place on a terminal, plain lines elsewhere.
// One thread. A reader that has gone away is ignored, and one that stands still misses redrawn
// lines; the run goes on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/text/output_writer.hpp"

namespace tidegate::launch {

class display {
 public:
  // `fd` is written to, by `writer`, which outlives it; `is_terminal` decides the form.
  display(output_writer& writer, int fd, bool is_terminal);

  // A line (or several) that stays.
  void print(const std::string& text);
  // Takes the live lines off a terminal; what is printed afterwards stays last.
  void end_live();
  // The state as of now. On a terminal it replaces the last; elsewhere it is printed when
  // `changed`, or when the last is 2 s old. `now_ms` is monotonic.
  void live(const std::vector<std::string>& lines, bool changed, std::int64_t now_ms);
  // Returns true if its reader is behind: what is read from elsewhere to be shown may wait
  // there.
  bool is_behind() const { return writer_.is_behind(); }
  // Columns of the terminal; 0: no limit.
  std::size_t width() const;
  // Rows of the terminal; 0: it has not said, is very narrow, or output goes elsewhere.
  std::size_t height() const;

 private:
  std::string erase();

  output_writer& writer_;
  int fd_;
  bool is_terminal_;
  std::vector<std::string> shown_;  // live lines on the terminal
  std::int64_t printed_ms_ = 0;
};

}  // namespace tidegate::launch
