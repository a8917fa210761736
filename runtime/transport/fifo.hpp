// A queue that allocates nothing once it was as long as it gets. Move-only elements are fine.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace tidegate::runtime {

template <class T>
class fifo {
 public:
  bool empty() const noexcept { return first_ == items_.size(); }
  std::size_t size() const noexcept { return items_.size() - first_; }
  T& front() noexcept { return items_[first_]; }
  // All that wait, the first one first.
  std::span<T> items() noexcept { return std::span(items_).subspan(first_); }

  void push(T item) {
    // What was taken makes room before more memory does.
    if (items_.size() == items_.capacity() && first_ > items_.size() / 2) {
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    items_.push_back(std::move(item));
  }
  void pop() noexcept {
    if (++first_ == items_.size()) clear();
  }
  void clear() noexcept {
    items_.clear();
    first_ = 0;
  }

 private:
  std::vector<T> items_;
  std::size_t first_ = 0;
};

}  // namespace tidegate::runtime
