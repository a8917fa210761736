#include "tests/launch/bench/peers/driver.hpp"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <thread>

#include "launch/bench/cpus.hpp"
#include "launch/bench/pattern.hpp"
#include "runtime/optimizers/registry.hpp"

namespace tidegate::bench {

namespace {

using runtime::errc;

constexpr std::int64_t open_ns_max = 30'000'000'000;
constexpr auto open_pause = std::chrono::milliseconds(1);

template <class Number>
bool read_number(std::string_view text, Number& into) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc{} && stop == text.data() + text.size();
}

bool set_option(std::string_view name, std::string_view value, peer_options& into) {
  if (name == "--arena") into.arena = value;
  if (name == "--algorithm") into.algorithm = value;
  if (name == "--store") into.store = value;
  if (name == "--pin") into.pin = value == "auto";
  if (name == "--rank") return read_number(value, into.rank);
  if (name == "--ranks") return read_number(value, into.ranks);
  if (name == "--bytes") return read_number(value, into.bytes);
  if (name == "--iterations") return read_number(value, into.iterations);
  if (name == "--warmup") return read_number(value, into.warmup);
  if (name == "--optimizer") {
    const auto kind = runtime::find_optimizer(value);
    if (kind) into.optimizer = *kind;
    return kind.has_value();
  }
  return name == "--arena" || name == "--algorithm" || name == "--store" ||
         (name == "--pin" && (value == "auto" || value == "none"));
}

// Rank 0 makes the file under another name, so that nobody sees half of it.
runtime::expected<arena> join_arena(const peer_options& options) {
  if (options.rank == 0) {
    const auto unfinished = options.arena + ".new";
    auto result =
        arena::create(unfinished, {options.ranks, options.warmup + options.iterations});
    if (result && std::rename(unfinished.c_str(), options.arena.c_str()) != 0)
      return runtime::fail(errc::io_error, options.arena + ": cannot be made");
    return result;
  }
  const auto deadline = now_ns() + open_ns_max;
  for (;;) {
    auto opened = arena::open(options.arena);
    if (opened || opened.error().code() != errc::not_found || now_ns() >= deadline)
      return opened;
    std::this_thread::sleep_for(open_pause);
  }
}

// The fields of `tidegate bench exchange --json`.
void print_result(const arena& shared, const peer_options& options) {
  double cpu = 0;
  std::uint64_t verified = 0;
  for (std::uint32_t rank = 0; rank < options.ranks; ++rank) {
    cpu += shared.reported(rank).cpu_seconds;
    verified += shared.reported(rank).verified;
  }
  std::printf("{\"bytes\": %llu, \"ranks\": %u, \"warmup\": %u, \"iterations\": %u, ",
              static_cast<unsigned long long>(options.bytes), options.ranks, options.warmup,
              options.iterations);
  std::printf("\"verified\": %llu, \"workers_cpu_seconds\": %.9f, \"seconds\": [",
              static_cast<unsigned long long>(verified), cpu);
  for (std::uint32_t i = 0; i < options.iterations; ++i)
    std::printf("%s%.9f", i == 0 ? "" : ", ",
                static_cast<double>(shared.exchange_ns(options.warmup + i)) * 1e-9);
  std::printf("]}\n");
}

runtime::status run(const peer_options& options, const make_peer& make) {
  if (options.pin) {
    const auto cpus = allowed_cpus();
    if (auto pinned = pin_this_thread(cpus[options.rank % cpus.size()]); !pinned.ok())
      return pinned;
  }
  auto shared = join_arena(options);
  if (!shared) return shared.error();
  auto self = make(options);
  if (!self) {
    shared->fail(self.error().message());
    return self.error();
  }
  if (auto done = measure(
          *shared,
          {.rank = options.rank, .warmup = options.warmup, .optimizer = options.optimizer},
          **self);
      !done.ok())
    return done;
  if (options.rank == 0) print_result(*shared, options);
  return {};
}

}  // namespace

runtime::expected<peer_options> parse_peer(int argc, const char* const* argv) {
  peer_options all;
  bool right = argc % 2 == 1;
  for (int i = 1; right && i + 1 < argc; i += 2) right = set_option(argv[i], argv[i + 1], all);
  right = right && !all.arena.empty() && all.rank < all.ranks && all.bytes != 0 &&
          all.bytes % sizeof(float) == 0 && all.iterations != 0 &&
          std::uint64_t{all.ranks} * (std::uint64_t{all.warmup} + all.iterations) <=
              exact_steps_max;
  if (right) return all;
  return runtime::fail(errc::invalid_argument,
                       "allowed: --arena FILE --rank R --ranks N --bytes B [--iterations I] "
                       "[--warmup I] [--optimizer O] [--algorithm A] [--store DIR] "
                       "[--pin auto|none]");
}

peer::peer(const peer_options& options)
    : how_(measured_optimizer(options.optimizer)),
      gradient_(options.bytes / sizeof(float)),
      parameters_(gradient_.size()),
      state1_(runtime::traits_of(options.optimizer).state_arrays > 0 ? gradient_.size() : 0),
      state2_(runtime::traits_of(options.optimizer).state_arrays > 1 ? gradient_.size() : 0) {}

void peer::step(const float* sum, std::size_t begin, std::size_t n) {
  runtime::kernels::gradient total;
  total.data = sum;
  runtime::kernels::chunk_arrays at;
  at.before = at.after = parameters_.data() + begin;
  if (state1_.size() != 0) at.state1 = state1_.data() + begin;
  if (state2_.size() != 0) at.state2 = state2_.data() + begin;
  at.n = n;
  runtime::kernels::apply_update(how_, powers_, {&total, 1}, 1.0F, at);
}

int run_peer(const peer_options& options, const make_peer& make) {
  const auto done = run(options, make);
  if (done.ok()) return 0;
  std::fprintf(stderr, "rank %u: %s\n", options.rank, done.message().c_str());
  return 1;
}

}  // namespace tidegate::bench
