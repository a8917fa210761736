// Rows that a filter holds: values by id, in memory that stays where rows go and come.
//
// A row lies at a place, a number below places(), until it is erased. Which place that is
// depends on the history, so nothing that a filter returns may follow from it. Lookups are by
// open addressing with linear probing, and erase by shifting back (Knuth, The Art of Computer
// Programming, volume 3, section 6.4, algorithm R), so there are no tombstones to clear.
//
// One thread. Spans are valid until the next insert().
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tidegate::runtime::filters {

class held_rows {
 public:
  using place = std::uint32_t;
  static constexpr place nowhere = ~place{0};

  explicit held_rows(std::uint32_t dim) noexcept : dim_(dim) {}

  place find(std::uint64_t id) const noexcept;
  // Returns the row's place, and whether it was not there; its values are 0 then.
  std::pair<place, bool> insert(std::uint64_t id);
  void erase(place at) noexcept;
  void clear() noexcept;

  std::uint64_t id(place at) const noexcept { return ids_[at]; }
  std::span<float> values(place at) noexcept {
    return {&values_[std::size_t{at} * dim_], dim_};
  }
  std::span<const float> values(place at) const noexcept {
    return {&values_[std::size_t{at} * dim_], dim_};
  }
  std::uint64_t size() const noexcept { return ids_.size() - free_.size(); }
  std::uint64_t places() const noexcept { return ids_.size(); }
  // Writes the places of all rows to `into`, ascending by id.
  void ascending(std::vector<place>& into) const;

  // Calls of the filter are numbered, so that a row is counted once in a call: begins a call,
  // and returns whether the row is met for the first time in it.
  void begin_call() noexcept { ++call_; }
  bool is_first(place at) noexcept { return std::exchange(calls_[at], call_) != call_; }

 private:
  std::size_t slot_of(std::uint64_t id) const noexcept;
  void grow();

  std::uint32_t dim_;
  std::uint64_t call_ = 1;
  std::vector<place> slots_;  // place + 1 of a row; 0: empty. A power of two, half empty
  std::vector<std::uint64_t> ids_;
  std::vector<std::uint64_t> calls_;  // in which the row was met last
  std::vector<bool> used_;
  std::vector<float> values_;
  std::vector<place> free_;
};

}  // namespace tidegate::runtime::filters
