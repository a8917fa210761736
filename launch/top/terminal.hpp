// A terminal that is drawn on as a whole, and its keys. The screen is ncurses', which knows
// terminals, sizes and what has changed since it was drawn last. One at a time; one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "launch/screen/run_lines.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

class terminal {
 public:
  enum class key : std::uint8_t { none, quit, up, down, page_up, page_down, sort };

  // Takes standard input and output. `has_color`: colours may be used. Errors: unavailable (the
  // terminal is not known).
  static runtime::expected<terminal> open(bool has_color);
  terminal(terminal&& other) noexcept;
  terminal& operator=(terminal&&) = delete;
  // Gives the terminal back as it was.
  ~terminal();

  // Its size, which may change between calls.
  std::size_t columns() const;
  std::size_t rows() const;
  void draw(const std::vector<styled_line>& lines);
  // Waits for a key for so long; a change of size counts as one, as key::none.
  key wait_for_key(int milliseconds);

 private:
  terminal() = default;
  bool is_open_ = false;
  bool has_color_ = false;
};

}  // namespace tidegate::launch
