// Which rows a part of a simulated table has, as the checker knows it: worked out from what was
// pushed, an id at a time, and never from what a shard claims. A part is a chunk of all its
// rows (row_ids.hpp); a row that does not exist has its first values. A value; one thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "launch/simulate/cluster/row_ids.hpp"
#include "policies/model/spec.hpp"

namespace tidegate::sim {

// How the rows of a part were used, and its candidates, in the order of their ids.
struct row_uses {
  struct row {
    bool exists = false;
    std::uint64_t clock = 0;  // of the last push
    std::uint64_t pushes = 0;

    friend bool operator==(const row&, const row&) = default;
  };
  using all_rows = std::array<row, rows_per_part>;

  all_rows rows = {};
  all_rows candidates = {};

  friend bool operator==(const row_uses&, const row_uses&) = default;
};

// What a process has of a chunk that it begins to serve.
struct served_values {
  served_values(std::span<const float> all) : parameters(all) {}  // of a dense table

  std::span<const float> parameters;
  std::optional<row_uses> uses;
};

class row_model {
 public:
  // Of one of so many parts, whose rows have these ids, ascending, and begin with these values.
  row_model(const policies::rows_spec& rows, std::uint64_t parts,
            std::vector<std::uint64_t> ids, std::span<const float> first_values);

  // Parameters and state of all rows. Those that go have their first values again, and no
  // state.
  struct arrays {
    std::span<float> parameters, state1, state2;
  };
  // Before a step of this clock: rows go that nobody pushes, and what was pushed of rows that
  // are not admitted is taken out. `gradients`: of the ranks, each of all rows, with gaps where
  // a row is not pushed.
  void begin_step(std::uint64_t clock, std::span<std::vector<float>> gradients,
                  const arrays& at);
  // After the step: rows go that are too many.
  void end_step(const arrays& at);

  // Pushes that were counted, and changed no value, show here alone.
  row_uses uses() const { return {.rows = rows_, .candidates = candidates_}; }

 private:
  using row = row_uses::row;
  using all_rows = row_uses::all_rows;

  void erase(std::uint32_t number, const arrays& at);
  std::uint32_t first_of(const all_rows& of, std::span<const float> parameters) const;

  runtime::row_lifetime rules_;
  std::vector<std::uint64_t> ids_;
  std::vector<float> first_values_;
  all_rows rows_;
  all_rows candidates_;
  std::uint64_t now_ = 0;  // the latest clock
};

}  // namespace tidegate::sim
