// The smallest worker: copy this file to start your own. Every worker pushes a gradient of ones
// for ten clocks; under BSP with SGD the parameters of clock c are then known exactly: 1 - c *
// rate.
//
//   tidegate launch push_pull.yaml
#include <algorithm>
#include <cstdio>

#include <tidegate/client.hpp>

namespace {

constexpr std::uint64_t clocks = 10;
constexpr float rate = 0.125F;  // a power of two, so that every value below is exact

tidegate::status train(tidegate::session& job) {
  tidegate::table_options options;
  options.optimizer = {.name = "sgd", .learning_rate = rate};
  options.init_constant = 1.0F;
  auto weights = job.open_table("weights", {1000}, options);
  if (!weights) return weights.error();

  for (auto c = job.now(); c < clocks; c = job.now()) {
    // The parameters of clock c: every worker's gradients of the clocks before it, and nothing
    // else.
    if (auto s = job.pull(*weights).wait(); !s) return s;
    const float expected = 1.0F - static_cast<float>(c) * rate;
    for (float value : job.parameters(*weights)) {
      if (value == expected) continue;
      return {tidegate::errc::corrupt, "clock " + std::to_string(c) + ": pulled " +
                                           std::to_string(value) + ", expected " +
                                           std::to_string(expected)};
    }
    // A real worker computes its gradient from parameters and its own data here. The next push
    // of this table ends what parameters() said.
    std::ranges::fill(job.gradient(*weights), 1.0F);
    if (auto s = job.push(*weights).wait(); !s) return s;
    if (auto s = job.clock(); !s) return s;
    job.report({.clocks_total = clocks, .loss = expected, .samples = c + 1});
  }
  if (auto s = job.pull_final(*weights).wait(); !s) return s;
  if (job.info().rank == 0) job.report_metric("weight", job.parameters(*weights)[0]);
  return job.finish();
}

}  // namespace

int main() {
  auto job = tidegate::session::connect();
  if (!job) {
    std::fprintf(stderr, "push_pull: %s\n", job.error().to_string().c_str());
    return 2;
  }
  const auto result = train(*job);
  if (result) return 0;
  job->fail(result);  // the other workers and `tidegate launch` learn why
  return 1;
}
