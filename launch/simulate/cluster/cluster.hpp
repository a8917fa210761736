// One simulated cluster from its start to its end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "launch/simulate/cluster/checker.hpp"
#include "launch/simulate/cluster/launcher.hpp"
#include "launch/simulate/cluster/noted_spans.hpp"
#include "launch/simulate/cluster/plan.hpp"

namespace tidegate::sim {

struct cluster_result {
  bool stuck = false;  // no end within the cap, though all faults had stopped
  policies::run_outcome outcome = policies::run_outcome::done;
  std::string why;  // of an end that is not `done`
  std::vector<violation> violations;
  std::uint64_t draws = 0;
  std::uint64_t digest = 0;  // of all that was drawn
  std::uint64_t events = 0;
  nanoseconds took = 0;  // virtual
  std::string text;      // of the trace, when asked for
  std::string chrome;
};

// A pure function of its arguments. `spans`: what processes note is added, an entry for each
// that was there; null: nobody notes anything.
cluster_result run_cluster(const cluster_plan& plan, std::uint64_t seed, bool with_trace,
                           std::map<process_id, noted_spans>* spans = nullptr);

}  // namespace tidegate::sim
