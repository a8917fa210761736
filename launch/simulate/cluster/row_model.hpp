// Which rows a part of a simulated table has, as the checker knows it: worked out from what was
// pushed, an id at a time, and never from what a shard claims. A part is a chunk of all its
// rows (row_ids.hpp); a row that does not exist has its first values. A value; one thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "launch/simulate/cluster/row_ids.hpp"
#include "policies/model/spec.hpp"

namespace tidegate::sim {

class row_model {
 public:
  // Of one of so many parts, whose rows all begin with these values.
  row_model(const policies::rows_spec& rows, std::uint64_t parts,
            std::span<const float> first_values);

  // Before a step of this clock: what was pushed of rows that are not admitted is taken out.
  // `gradients`: of the ranks, each of all rows, with gaps where a row is not pushed.
  void admit(std::uint64_t clock, std::span<std::vector<float>> gradients);
  // After the step: rows that go have their first values again, and no state.
  void evict(std::span<float> parameters, std::span<float> state1, std::span<float> state2);

 private:
  struct row {
    bool exists = false;
    std::uint64_t clock = 0;  // of the last push
    std::uint64_t pushes = 0;
  };
  using all_rows = std::array<row, rows_per_part>;

  std::uint32_t first_of(const all_rows& of, std::span<const float> parameters) const;

  runtime::row_lifetime rules_;
  std::vector<float> first_values_;
  all_rows rows_;
  all_rows candidates_;
  std::uint64_t before_ = 0;  // the latest clock before the last step
  std::uint64_t now_ = 0;     // and with it
};

}  // namespace tidegate::sim
