#include "launch/bench/measure.hpp"

#include <cstdio>
#include <ctime>

#include "launch/bench/pattern.hpp"

namespace tidegate::bench {

namespace {

void fill(const gradient_pattern& gradients, std::uint32_t iteration, participant& self) {
  std::size_t first = 0;
  for (std::size_t t = 0; t < self.tables(); ++t) {
    const auto out = self.gradient(t);
    gradients.fill(iteration, first, out);
    first += out.size();
  }
}

runtime::status prepare(const gradient_pattern& gradients, std::uint32_t iteration,
                        participant& self) {
  fill(gradients, iteration, self);
  return self.bring_gradients();
}

runtime::status exchange(std::uint32_t times, participant& self) {
  for (std::uint32_t i = 0; i < times; ++i)
    if (auto done = self.exchange(); !done.ok()) return done;
  return {};
}

std::uint64_t bytes_of(const participant& self) {
  std::uint64_t bytes = 0;
  for (std::size_t t = 0; t < self.tables(); ++t) bytes += self.parameters(t).size_bytes();
  return bytes;
}

runtime::status run(arena& shared, const measure_options& options, participant& self) {
  const auto [ranks, iterations] = shared.shape();
  const bool is_first = options.rank == 0;
  const gradient_pattern gradients(options.rank);
  reference truth(options.optimizer, ranks);
  arena::account account;
  for (std::uint32_t i = 0; i < iterations; ++i) {
    const bool counts = i >= options.warmup;
    if (auto ready = prepare(gradients, i, self); !ready.ok()) return ready;
    if (options.in_a_row > 1) {  // the other place of the gradient
      if (auto done = self.exchange(); !done.ok()) return done;
      if (auto ready = prepare(gradients, i, self); !ready.ok()) return ready;
    }
    const double servers_before = is_first ? self.servers_cpu_seconds() : 0;
    if (auto all = meet(shared); !all.ok()) return all;
    const double cpu_before = cpu_seconds();
    const auto begin = now_ns();
    if (auto done = exchange(options.in_a_row, self); !done.ok()) return done;
    const auto end = now_ns();
    const double cpu_after = cpu_seconds();
    shared.record(options.rank, i, {begin, end});
    if (auto all = shared.wait_for_all(waiting::patient); !all.ok()) return all;
    if (counts) account.cpu_seconds += cpu_after - cpu_before;
    if (counts && is_first)
      account.servers_cpu_seconds += self.servers_cpu_seconds() - servers_before;
    for (std::uint32_t k = 0; k < exchanges_of_iteration(options.in_a_row); ++k) truth.step(i);
    if (!is_verified(i, iterations, bytes_of(self))) continue;
    if (auto fetched = self.fetch_parameters(); !fetched.ok()) return fetched;
    if (auto right = verify(options.rank, self, truth); !right.ok()) return right;
    ++account.verified;
  }
  shared.report(options.rank, account);
  return shared.wait_for_all(waiting::patient);
}

}  // namespace

std::uint32_t exchanges_of_iteration(std::uint32_t in_a_row) {
  return in_a_row > 1 ? in_a_row + 1 : 1;
}

runtime::status meet(arena& shared) {
  if (auto all = shared.wait_for_all(waiting::patient); !all.ok()) return all;
  return shared.wait_for_all(waiting::prompt);
}

runtime::status measure(arena& shared, const measure_options& options, participant& self) {
  auto result = run(shared, options, self);
  if (!result.ok())
    shared.fail("rank " + std::to_string(options.rank) + ": " + result.message());
  return result;
}

bool is_verified(std::uint32_t iteration, std::uint32_t iterations, std::uint64_t bytes) {
  return bytes <= verify_always_bytes_max || iteration % verify_every == 0 ||
         iteration + 1 == iterations;
}

runtime::status verify(std::uint32_t rank, const participant& self, const reference& truth) {
  std::optional<mismatch> wrong;
  std::size_t first = 0;
  for (std::size_t t = 0; t < self.tables() && !wrong; ++t) {
    const auto parameters = self.parameters(t);
    wrong = truth.check(first, parameters);
    first += parameters.size();
  }
  if (!wrong) return {};
  char values[80];
  std::snprintf(values, sizeof values, "expected %.9g, found %.9g", double{wrong->expected},
                double{wrong->found});
  return {runtime::errc::corrupt,
          "wrong parameters at rank " + std::to_string(rank) + ", clock " +
              std::to_string(truth.clocks()) + ", element " + std::to_string(wrong->element) +
              " of " + std::to_string(bytes_of(self) / sizeof(float)) + ": " + values};
}

double cpu_seconds() noexcept {
  timespec used = {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

}  // namespace tidegate::bench
