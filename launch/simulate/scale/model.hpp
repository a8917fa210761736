// A cluster of thousands, on paper: real policies decide who waits for whom, and machines are
// the stages of stage.hpp.
//
// What is kept of the real thing: the consistency policies and relay policies themselves, the
// plan of aggregators and hosts, the placement of chunks, an exchange per clock (push and pull
// in one, ended by its answer and the acknowledgement), compute times per worker and clock,
// full-duplex links with latency, one thread per shard and aggregator.
//
// What is left out, and why that is right to first order:
//   all shards but one    they see the same pushes in the same order and share no machine; the
//                         one modelled is the one with the most bytes. What would differ is
//                         their noise: a clock waits for the slowest of many shards
//   all chunks but one    every chunk of a shard is pushed, parked and answered like the
//   others;
//                         the way of the bytes through link, sum and link overlaps chunk by
//                         chunk (stage.hpp)
//   fairness of links     pushes that meet are served in the order of arrival. The last of them
//                         is through at the same moment, which is all that bsp waits for; under
//                         async the first ones are answered earlier than by a fair link
//   loss, congestion      a link carries its rate
//   overlap               gradients leave when all of them are computed
//
// One thread, deterministic: equal settings give equal outcomes to the last bit.
#pragma once

#include <cstdint>
#include <functional>

#include "launch/simulate/scale/outcome.hpp"
#include "launch/simulate/scale/setting.hpp"

namespace tidegate::sim::scale {

// Seconds that `rank` computes in `clock`.
using compute_function = std::function<double(std::uint32_t rank, std::uint64_t clock)>;

// Runs until workers x clocks exchanges are done, by whomever: the fast do more of them where
// the policy lets them.
outcome run(const setting& combination);
outcome run(const setting& combination, const compute_function& compute);

}  // namespace tidegate::sim::scale
