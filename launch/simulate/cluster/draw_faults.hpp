// What goes wrong in a cluster, for draw_plan(): parts of it, which are called in one order, as
// they draw from one chance.
#pragma once

#include <vector>

#include "launch/simulate/cluster/draw_plan.hpp"
#include "launch/simulate/cluster/draws.hpp"

namespace tidegate::sim {

template <class Number>
Number draw(draws& chance, const range<Number>& of) {
  return chance.between(of.low, of.high);
}

template <class Value>
const Value& pick(draws& chance, const std::vector<Value>& from) {
  return from[static_cast<std::size_t>(chance.below(from.size()))];
}

void draw_deaths(const scenario& of, draws& chance, cluster_plan& plan);
void draw_breaks(const scenario& of, draws& chance, cluster_plan& plan);
void draw_failing_writes(const scenario& of, draws& chance, cluster_plan& plan);
// Of the first job. Its clocks take longer than what tells of them, and all workers as long.
void draw_slowness(const scenario& of, std::uint64_t seed, cluster_plan& plan);
void draw_stalls(const scenario& of, draws& chance, cluster_plan& plan);
void draw_host_faults(const scenario& of, draws& chance, cluster_plan& plan);

}  // namespace tidegate::sim
