// Arrays for measuring memory with: of a chosen kind of pages, touched, and apart from each
// other in a way that real arrays are. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tidegate::bench {

enum class page_kind : std::uint8_t {
  small,  // private, 4 KiB
  huge,   // private, MADV_HUGEPAGE: 2 MiB where the kernel has them
  shared  // memfd, MAP_SHARED: what processes share
};

// False when the word is not small, huge or shared.
bool parse_page_kind(std::string_view word, page_kind& into);

// Owns its arrays.
class arrays {
 public:
  // `count` arrays of `floats` elements each, aligned to 64 bytes, filled with small numbers
  // other than 0. Ends the program when the memory cannot be had.
  arrays(page_kind kind, std::size_t count, std::size_t floats);
  ~arrays();
  arrays(const arrays&) = delete;
  arrays& operator=(const arrays&) = delete;

  float* operator[](std::size_t i) const { return arrays_[i]; }
  std::size_t floats() const { return floats_; }

 private:
  std::size_t floats_;
  std::vector<std::span<std::byte>> mapped_;
  std::vector<float*> arrays_;
};

}  // namespace tidegate::bench
