// Many simulated clusters: each seed draws a scenario of the mix and a cluster of it, which is
// run twice. One thread; a pure function but for the time that it takes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "launch/simulate/cluster/cluster.hpp"
#include "launch/simulate/cluster/draw_plan.hpp"

namespace tidegate::sim {

struct simulate_options {
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 1;
  std::vector<scenario> mix;      // at least one with a weight
  std::size_t failures_max = 10;  // enough to see what is wrong
};

struct seed_failure {
  std::uint64_t seed = 0;
  std::string scenario;
  bool stuck = false;
  std::vector<violation> violations;  // empty: stuck, or not the same twice
};

struct simulate_report {
  std::uint64_t clusters = 0;
  std::uint64_t violations = 0;  // clusters that broke a promise
  std::uint64_t stuck = 0;
  std::uint64_t events = 0;
  // Sums up what the clusters drew and did, in the order of their seeds: a change that keeps it
  // has changed nothing that a simulation can see.
  std::uint64_t digest = 0;
  std::map<std::string, std::uint64_t> of_scenario;
  std::map<std::string, std::uint64_t> ended;  // "done", "job failed", "process died"
  std::vector<seed_failure> failures;
  // In order:
  std::vector<std::string> never_hit;     // rare branches
  std::vector<std::string> never_forced;  // branches that could have been
  std::vector<std::string> never_turned;  // knobs
};

// The scenario of a seed, by the weights of the mix.
const scenario& scenario_of(const simulate_options& options, std::uint64_t seed);

// `go_on`: asked between clusters; false ends early.
simulate_report simulate(const simulate_options& options, const std::function<bool()>& go_on);

}  // namespace tidegate::sim
