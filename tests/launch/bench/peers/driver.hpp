// What the drivers of all-reduce libraries share: command line, arena, buffers, the optimizer's
// step on every rank, and the result as JSON. A driver adds how to sum. One thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "launch/bench/huge_array.hpp"
#include "launch/bench/measure.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::bench {

struct peer_options {
  std::string arena;  // rank 0 makes it
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  std::uint64_t bytes = 0;
  std::uint32_t iterations = 10;  // timed ones
  std::uint32_t warmup = 3;
  runtime::kernels::optimizer_kind optimizer = runtime::kernels::optimizer_kind::sgd;
  std::string algorithm;  // the driver's own word
  std::string store;      // a folder where ranks find one another
  bool pin = true;        // rank r to the r-th core, round robin
};

// Errors: invalid_argument.
runtime::expected<peer_options> parse_peer(int argc, const char* const* argv);

// A rank with its buffers, allocated once. Parameters begin as 0.
class peer : public participant {
 public:
  explicit peer(const peer_options& options);

  std::span<float> gradient(std::size_t) override { return gradient_.all(); }
  std::span<const float> parameters(std::size_t) const override { return parameters_.all(); }

 protected:
  float* gradient() noexcept { return gradient_.data(); }
  std::size_t elements() const noexcept { return gradient_.size(); }
  float* writable_parameters() noexcept { return parameters_.data(); }
  // The optimizer's step with a sum that is there, on `n` elements from `begin`; each element
  // once per exchange, and the whole of them by one call or from one `begin` ever after.
  void step(const float* sum, std::size_t begin, std::size_t n);

 private:
  runtime::kernels::optimizer how_;
  runtime::kernels::beta_powers powers_;
  huge_array gradient_;
  huge_array parameters_;
  huge_array state1_;
  huge_array state2_;
};

// main() of a driver: `make` connects the ranks. Rank 0 prints the result. Returns what to exit
// with.
using make_peer = std::function<runtime::expected<std::unique_ptr<peer>>(const peer_options&)>;
int run_peer(const peer_options& options, const make_peer& make);

}  // namespace tidegate::bench
