// The lists of ids that a part of a table of rows keeps of one rank, each as its code
// (id_code.hpp) and under its name (runtime/base/list_name.hpp), so that a frame may name a
// list that has come before. No more than so many bytes: the oldest lists go first, as the
// worker does that names them (policies/worker/known_lists.hpp).
//
// Codes lie one after another in a ring of words. One thread. Once warm, nothing allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/base/list_name.hpp"

namespace tidegate::runtime {

class kept_lists {
 public:
  explicit kept_lists(std::uint64_t bytes_max = list_bytes_max) : bytes_max_(bytes_max) {}

  // Returns the code of the list of so many ids that has this name, until the next keep().
  std::optional<std::span<const std::byte>> find(const list_name& name,
                                                 std::uint32_t ids) const;
  // Keeps a list, unless it is larger than all that may be kept, or has no ids: then nobody
  // names it. `code`: whole words, of so many ids, checked.
  void keep(const list_name& name, std::uint32_t ids, std::span<const std::byte> code);
  void clear();

  // Returns what the lists count for, as list_bytes().
  std::uint64_t bytes() const noexcept { return bytes_; }
  std::size_t size() const noexcept { return lists_.size(); }

 private:
  struct kept_list {
    list_name name;
    std::uint32_t ids = 0;
    std::size_t begin = 0;  // of its words
    std::size_t words = 0;

    std::size_t end() const { return begin + words; }
    std::uint64_t bytes() const { return list_bytes(words * sizeof(std::uint64_t)); }
  };

  void forget_oldest();
  // Returns where so many words have room now, if they have.
  std::optional<std::size_t> find_room(std::size_t words) const;
  void grow(std::size_t words);

  std::uint64_t bytes_max_;
  std::uint64_t bytes_ = 0;
  std::vector<std::uint64_t> ring_;
  std::vector<kept_list> lists_;  // the oldest first
};

}  // namespace tidegate::runtime
