// Which samples a worker trains on: a pure function of (seed, workers, rank, clock).
//
// Every epoch visits the samples in an order drawn from (seed, epoch). Each clock takes the
// next `workers * batch` of them, and each rank its own `batch` of those; what does not fill a
// last clock is left out of that epoch. So the workers of a clock never share a sample, and a
// worker that is restarted at clock c computes the batch that its predecessor would have.
//
// One thread per sampler. The span that `batch` returns is valid until the next call.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tidegate::examples {

// splitmix64 (Steele, Lea and Flood, 2014). Ours rather than the standard library's because
// std::shuffle and the std distributions give other numbers in another library.
class splitmix64 {
 public:
  explicit splitmix64(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept;
  // Below `bound`, which is > 0; the bias is below bound / 2^32.
  std::uint32_t below(std::uint32_t bound) noexcept;

 private:
  std::uint64_t state_;
};

struct sampler_options {
  std::uint64_t seed = 1;
  std::uint32_t samples = 0;
  std::uint32_t workers = 1;
  std::uint32_t rank = 0;   // < workers
  std::uint32_t batch = 1;  // per worker; workers * batch <= samples
};

class sampler {
 public:
  explicit sampler(const sampler_options& options);

  std::uint64_t clocks_per_epoch() const noexcept { return clocks_per_epoch_; }
  // Indices of the samples of this rank at `clock`.
  std::span<const std::uint32_t> batch(std::uint64_t clock);

 private:
  void shuffle(std::uint64_t epoch);

  sampler_options options_;
  std::uint64_t clocks_per_epoch_;
  std::uint64_t epoch_ = ~0ULL;  // that order_ belongs to
  std::vector<std::uint32_t> order_;
};

}  // namespace tidegate::examples
