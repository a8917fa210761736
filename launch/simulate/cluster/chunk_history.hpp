// A chunk as the checker knows it: what was pushed, in which order it was applied, and every
// version that this made. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "launch/simulate/cluster/network.hpp"
#include "launch/simulate/cluster/row_model.hpp"
#include "launch/simulate/cluster/update.hpp"
#include "runtime/kernels/update.hpp"

namespace tidegate::sim {

// Differs where any bit does, as far as 64 bits can say.
std::uint64_t digest_of(std::span<const float> values);

struct chunk_history {
  struct version {
    std::uint64_t digest = 0;
    std::size_t updates = 0;  // the first so many of the order
    std::vector<float> parameters, state1, state2;
    runtime::kernels::beta_powers powers;
    std::optional<row_model> rows;

    bool has(const served_values& values) const;
  };
  using contains = std::function<bool(const update&)>;

  runtime::kernels::optimizer optimizer;
  runtime::kernels::beta_powers powers;
  std::vector<float> parameters, state1, state2;
  std::optional<row_model> rows;  // of a part of a table of rows
  std::map<update, std::map<std::uint32_t, std::vector<float>>> written;  // by incarnation
  std::map<update, std::size_t> at;  // applied updates: their place in the order
  std::set<update> acknowledged;
  std::vector<version> versions;
  // Of primaries that have died, which somebody may still read, or have put into a checkpoint:
  // with their updates.
  std::vector<std::pair<version, std::set<update>>> ghosts;
  std::uint32_t opened_in = 0;  // epoch of the run
  // Version, by rank and incarnation.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> newest_read;
  std::uint64_t epoch = 0;  // in which `server` answers
  process_id server = 0;

  // Makes what is there now the newest version.
  void note_version();
  // Makes `found` what is there now, and all after it never was.
  void roll_back(std::size_t found);
  // A ghost is what is there now, with just these updates.
  void return_to(const version& ghost, const std::set<update>& with);
  // Forgets what ranks from this one on have written that is not applied: everything goes back
  // to before they joined.
  void forget_ranks_from(std::uint32_t first);
  // Valid as long as the history.
  contains updates_in(const version& found) const;
  std::pair<version, std::set<update>> ghost_of(const version& found) const;
};

}  // namespace tidegate::sim
