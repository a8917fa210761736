#include "examples/fashion_mnist/sampler.hpp"

#include <numeric>
#include <utility>

namespace tidegate::examples {

std::uint64_t splitmix64::next() noexcept {
  state_ += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

std::uint32_t splitmix64::below(std::uint32_t bound) noexcept {
  return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32);
}

sampler::sampler(const sampler_options& options)
    : options_(options),
      clocks_per_epoch_(options.samples / (std::uint64_t{options.workers} * options.batch)),
      order_(options.samples) {}

std::span<const std::uint32_t> sampler::batch(std::uint64_t clock) {
  const std::uint64_t epoch = clock / clocks_per_epoch_;
  if (epoch != epoch_) shuffle(epoch);
  const std::uint64_t step = clock % clocks_per_epoch_;
  const std::uint64_t first = (step * options_.workers + options_.rank) * options_.batch;
  return std::span<const std::uint32_t>(order_).subspan(first, options_.batch);
}

void sampler::shuffle(std::uint64_t epoch) {
  // Two rounds of mixing keep (seed, epoch) and (seed + 1, epoch - 1) apart.
  splitmix64 outer(options_.seed);
  splitmix64 random(outer.next() ^ epoch);
  std::iota(order_.begin(), order_.end(), 0U);
  for (std::uint32_t i = options_.samples; i > 1; --i) {
    std::swap(order_[i - 1], order_[random.below(i)]);
  }
  epoch_ = epoch;
}

}  // namespace tidegate::examples
