// The loop that every system under measurement runs, ours and the peers': fill the gradient,
// wait for all ranks, exchange between two readings of the clock, and compare. Filling and
// comparing are outside the timed part. Several exchanges in a row find everything warm, as a
// batch of steps does. One thread.
#pragma once

#include <cstdint>
#include <span>

#include "launch/bench/arena.hpp"
#include "runtime/kernels/update.hpp"

namespace tidegate::bench {

class reference;  // pattern.hpp

// Up to this size every iteration is verified, above it the first, every eighth and the last.
inline constexpr std::uint64_t verify_always_bytes_max = 4U << 20U;
inline constexpr std::uint32_t verify_every = 8;

// One rank of a system that sums gradients and gives everybody the new parameters.
class participant {
 public:
  virtual ~participant() = default;
  // What is exchanged may lie in several arrays, one behind the other.
  virtual std::size_t tables() const { return 1; }
  // Where this rank's gradient is to be written before an exchange.
  virtual std::span<float> gradient(std::size_t table) = 0;
  // Brings what was written there to where it is exchanged, if that is elsewhere.
  virtual runtime::status bring_gradients() { return {}; }
  // The timed part: from this rank's gradient to its new parameters.
  virtual runtime::status exchange() = 0;
  // Brings the parameters of the last exchange to where parameters() says.
  virtual runtime::status fetch_parameters() { return {}; }
  // As of the last exchange; valid until the next.
  virtual std::span<const float> parameters(std::size_t table) const = 0;
  // CPU seconds so far of processes that are no rank; asked of rank 0 only.
  virtual double servers_cpu_seconds() const { return 0; }
};

struct measure_options {
  std::uint32_t rank = 0;
  std::uint32_t warmup = 0;  // of the arena's iterations, the first ones
  // Exchanges of each iteration, one after the other and timed as one, with the same gradient.
  std::uint32_t in_a_row = 1;
  runtime::kernels::optimizer_kind optimizer = runtime::kernels::optimizer_kind::sgd;
};

// Returns how many exchanges an iteration is: one that is not timed comes before several,
// because a gradient that is exchanged again has to lie in both of its places.
std::uint32_t exchanges_of_iteration(std::uint32_t in_a_row);

// Returns when all ranks are there, all at about the same time. Errors: those of the barrier.
runtime::status meet(arena& shared);

// Runs all iterations of the arena. A failure is written into the arena as well, which frees
// the other ranks. Errors: corrupt (a wrong element: rank, clock, element, expected, found),
// those of the participant and of the barrier.
runtime::status measure(arena& shared, const measure_options& options, participant& self);

// Whether an iteration's result is compared.
bool is_verified(std::uint32_t iteration, std::uint32_t iterations, std::uint64_t bytes);

// What `measure` says of a wrong element.
runtime::status verify(std::uint32_t rank, const participant& self, const reference& truth);

double cpu_seconds() noexcept;  // of this process, all threads

}  // namespace tidegate::bench
