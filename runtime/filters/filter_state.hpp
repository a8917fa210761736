// The state of a filter as bytes, and what calls of all filters check. The bytes begin with the
// kind of the filter and the width of its rows; numbers are as this machine has them, since
// state of a worker stays on machines of one kind.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/limits.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::runtime::filters {

inline constexpr std::uint64_t rows_most = 1ULL << 28;  // of a filter, and of a call

enum class filter_kind : std::uint32_t {
  kkt = 0x31'4B'47'54,  // "TGK1" and so on
  significant = 0x31'53'47'54,
  pull = 0x31'50'47'54,
};

template <class T>
concept plain_number = std::integral<T> || std::floating_point<T>;

class state_writer {
 public:
  state_writer(filter_kind kind, std::uint32_t dim) {
    add(static_cast<std::uint32_t>(kind));
    add(dim);
  }
  template <plain_number T>
  void add(T number) {
    add(std::span<const T>(&number, 1));
  }
  template <plain_number T>
  void add(std::span<const T> numbers) {
    if (numbers.empty()) return;
    const auto end = bytes_.size();
    bytes_.resize(end + numbers.size_bytes());
    std::memcpy(bytes_.data() + end, numbers.data(), numbers.size_bytes());
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// Reads what a writer has written. After a read beyond the end, or of a wrong beginning, all
// reads fail.
class state_reader {
 public:
  state_reader(std::span<const std::byte> bytes, filter_kind kind, std::uint32_t dim)
      : left_(bytes) {
    std::uint32_t found_kind = 0, found_dim = 0;
    if (!read(found_kind) || !read(found_dim) ||
        found_kind != static_cast<std::uint32_t>(kind) || found_dim != dim)
      is_bad_ = true;
  }
  template <plain_number T>
  bool read(T& number) {
    return read(std::span<T>(&number, 1));
  }
  template <plain_number T>
  bool read(std::span<T> numbers) {
    if (is_bad_ || left_.size() < numbers.size_bytes()) {
      is_bad_ = true;
      return false;
    }
    if (!numbers.empty()) std::memcpy(numbers.data(), left_.data(), numbers.size_bytes());
    left_ = left_.subspan(numbers.size_bytes());
    return true;
  }
  std::size_t left() const noexcept { return left_.size(); }
  bool is_done() const noexcept { return !is_bad_ && left_.empty(); }

 private:
  std::span<const std::byte> left_;
  bool is_bad_ = false;
};

inline status refused_state(const char* filter, std::uint32_t dim) {
  return {errc::invalid_argument, std::string("these bytes are no state of a ") + filter +
                                      " of rows of " + std::to_string(dim) +
                                      "; allowed: what save() of such a filter returned"};
}

// Checks an option that is a size: finite, 0 or more.
inline status check_size(const char* filter, const char* name, float value) {
  if (std::isfinite(value) && value >= 0) return {};
  return {errc::invalid_argument, std::string(filter) + ": " + name + " " +
                                      std::to_string(value) +
                                      "; allowed: finite numbers, 0 and more"};
}

inline status check_number(const char* filter, const char* name, std::uint64_t value,
                           std::uint64_t most) {
  if (value >= 1 && value <= most) return {};
  return {errc::invalid_argument, std::string(filter) + ": " + name + " " +
                                      std::to_string(value) + "; allowed: 1 to " +
                                      std::to_string(most)};
}

// Checks a call with `values` numbers for `ids` rows of `dim`.
inline status check_call(const char* filter, std::size_t ids, std::uint32_t dim,
                         const char* role, std::size_t values) {
  if (ids > rows_most)
    return {errc::invalid_argument,
            std::string(filter) + ": " + std::to_string(ids) +
                " ids in a call; allowed: " + std::to_string(rows_most)};
  if (values == ids * dim) return {};
  return {errc::invalid_argument, std::string(filter) + ": " + std::to_string(ids) +
                                      " ids of rows of " + std::to_string(dim) + " and " +
                                      std::to_string(values) + " " + role +
                                      "; allowed: " + std::to_string(ids * dim)};
}

}  // namespace tidegate::runtime::filters
