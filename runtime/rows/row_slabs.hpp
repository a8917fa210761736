// The arrays of a table of rows in their memory, by row number. A view: it owns nothing, and
// the memory (row_layout.hpp) outlives it. No thread rule of its own; row_table.hpp and
// row_reader.hpp have those.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "runtime/rows/row_layout.hpp"

namespace tidegate::runtime {

// Byte is std::byte, or const std::byte where the memory is only read.
template <class Byte>
class slabs_in {
  template <class T>
  using in = std::conditional_t<std::is_const_v<Byte>, const T, T>;

 public:
  slabs_in(Byte* memory, const row_layout& layout) noexcept
      : memory_(memory), layout_(layout) {}

  // Rows are below the capacity.
  in<float>* values(row_number row) const noexcept {
    return all_values() + row * layout_.value_stride;
  }
  in<float>* state(row_number row) const noexcept {
    return all_states() + row * layout_.state_stride;
  }
  in<std::uint64_t>& id(row_number row) const noexcept {
    return reinterpret_cast<in<std::uint64_t>*>(memory_ + layout_.ids)[row];
  }
  in<row_use>& use(row_number row) const noexcept { return all_uses()[row]; }

  in<float>* all_values() const noexcept {
    return reinterpret_cast<in<float>*>(memory_ + layout_.values);
  }
  in<float>* all_states() const noexcept {
    return reinterpret_cast<in<float>*>(memory_ + layout_.states);
  }
  in<row_use>* all_uses() const noexcept {
    return reinterpret_cast<in<row_use>*>(memory_ + layout_.uses);
  }
  const row_layout& layout() const noexcept { return layout_; }

 private:
  Byte* memory_;
  row_layout layout_;
};

using row_slabs = slabs_in<std::byte>;
using row_slabs_view = slabs_in<const std::byte>;

}  // namespace tidegate::runtime
