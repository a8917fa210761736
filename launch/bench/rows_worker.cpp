#include "launch/bench/rows_worker.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>
#include <utility>

#include "launch/bench/measure.hpp"
#include "launch/bench/row_draws.hpp"
#include "launch/bench/rows_reference.hpp"
#include "launch/bench/sizes.hpp"
#include "launch/text/scalars.hpp"
#include <tidegate/session.hpp>

namespace tidegate::bench {

namespace {

using runtime::errc;
using runtime::status;

constexpr std::size_t words_of_order = 9;
constexpr std::uint32_t number_max = runtime::limits::part_rows_max;
// Seeds of generators: those of ranks lie side by side.
constexpr std::uint64_t seed_of_rounds = 1;
constexpr std::uint64_t seed_of_grown = 10'000;
constexpr std::uint64_t seed_of_pulls = 20'000;
constexpr std::uint64_t seed_of_bare = 30'000;

// What a rank pushes, clock after clock. Rank 0 draws the batches of all ranks, as it knows
// what values they make.
class pushed_batches {
 public:
  pushed_batches(const rows_options& options, std::uint64_t seed, std::uint32_t rank,
                 std::uint32_t ranks) {
    draws_.emplace_back(options, seed + rank);
    for (std::uint32_t other = 1; rank == 0 && other < ranks; ++other)
      draws_.emplace_back(options, seed + other);
  }

  // The first batch is this rank's.
  std::vector<drawn_rows> next() {
    std::vector<drawn_rows> all;
    for (auto& rank : draws_) all.push_back(rank.next());
    return all;
  }

 private:
  std::vector<row_draws> draws_;
};

class rows_work {
 public:
  rows_work(const rows_order& order, arena& shared, tidegate::session& job,
            tidegate::row_table table, const server_processes* servers)
      : order_(order),
        shared_(shared),
        job_(job),
        table_(table),
        servers_(servers),
        rank_(job.info().rank),
        ranks_(job.info().workers),
        plan_(plan_rows(order, ranks_)),
        ones_(std::size_t{std::max(order.rows.batch, plan_.batch_growing)} * order.rows.dim,
              1.0F),
        out_(ones_.size()),
        pulls_(runtime::mix64(seed_of_pulls + rank_)) {
    if (rank_ == 0) reference_.emplace(order.rows);
  }

  status run() {
    if (auto done = grow(); !done.ok()) return done;
    if (auto done = go_on_grown(); !done.ok()) return done;
    if (auto done = run_rounds(); !done.ok()) return done;
    shared_.report(rank_, account_);
    return shared_.wait_for_all(waiting::patient);
  }

 private:
  std::span<const float> ones(std::size_t rows) const {
    return std::span(ones_).first(rows * order_.rows.dim);
  }
  std::span<float> out(std::size_t rows) {
    return std::span(out_).first(rows * order_.rows.dim);
  }

  status push(std::span<const std::uint64_t> ids) {
    table_.push(ids, ones(ids.size()));  // a pull fails with it
    return job_.clock();
  }
  status pull(std::span<const std::uint64_t> ids) {
    return table_.pull(ids, out(ids.size())).wait();
  }

  // Pulls rows of numbers below `count`, and writes down how long that takes.
  status time_pull(std::uint64_t count, std::uint32_t iteration) {
    std::vector<std::uint64_t> ids(std::min<std::uint64_t>(plan_.batch_growing, count));
    for (auto& id : ids) id = id_of_row(pulls_.below(count));
    const auto begin = now_ns();
    if (auto done = pull(ids); !done.ok()) return done;
    shared_.record(rank_, iteration, {begin, now_ns()});
    return {};
  }

  status grow() {
    const auto each = plan_.batch_growing;
    const std::uint64_t rows = order_.rows.rows;
    for (std::uint32_t i = 0; i < plan_.growing; ++i) {
      const auto existing = std::uint64_t{i} * ranks_ * each;
      std::vector<std::uint64_t> ids;
      const auto first = existing + std::uint64_t{rank_} * each;
      for (auto number = first; number < std::min(first + each, rows); ++number)
        ids.push_back(id_of_row(number));
      if (auto done = push(ids); !done.ok()) return done;
      if (auto done = time_pull(std::max<std::uint64_t>(existing, 1), i); !done.ok())
        return done;
    }
    if (reference_) reference_->step_all();
    return verify();
  }

  status go_on_grown() {
    auto options = order_.rows;
    options.batch = plan_.batch_growing;
    options.zipf = 0;
    pushed_batches batches(options, seed_of_grown, rank_, ranks_);
    for (std::uint32_t i = 0; i < plan_.grown; ++i) {
      const auto all = batches.next();
      if (reference_) reference_->step(all);
      if (auto done = push(all.front().ids); !done.ok()) return done;
      if (auto done = time_pull(order_.rows.rows, plan_.growing + i); !done.ok()) return done;
    }
    return verify();
  }

  // Gradients are there, and ids are drawn, before a round begins.
  status run_round(std::uint32_t number, pushed_batches& batches) {
    std::vector<drawn_rows> own;
    for (std::uint32_t i = 0; i < clocks_of_round; ++i) {
      auto all = batches.next();
      if (reference_) reference_->step(all);
      own.push_back(std::move(all.front()));
    }
    const bool counts = number >= order_.warmup;
    const double servers_before = servers_ != nullptr ? servers_->cpu_seconds() : 0;
    if (auto all = meet(shared_); !all.ok()) return all;
    const double cpu_before = cpu_seconds();
    const auto begin = now_ns();
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (auto done = push(own[i].ids); !done.ok()) return done;
      if (auto done = pull(own[(i + 1) % own.size()].ids); !done.ok()) return done;
    }
    const auto end = now_ns();
    const double cpu_after = cpu_seconds();
    shared_.record(rank_, plan_.round(number), {begin, end});
    if (auto all = shared_.wait_for_all(waiting::patient); !all.ok()) return all;
    if (!counts) return {};
    account_.cpu_seconds += cpu_after - cpu_before;
    if (servers_ != nullptr)
      account_.servers_cpu_seconds += servers_->cpu_seconds() - servers_before;
    for (const auto& batch : own) account_.rows += batch.ids.size();
    return {};
  }

  status run_bare_round(std::uint32_t number, bare_rows& rows, row_draws& draws) {
    std::vector<drawn_rows> own;
    for (std::uint32_t i = 0; i < clocks_of_round; ++i) own.push_back(draws.next());
    if (auto all = meet(shared_); !all.ok()) return all;
    const auto begin = now_ns();
    for (const auto& batch : own) {
      rows.update(batch.numbers, ones(batch.numbers.size()));
      rows.gather(batch.numbers, out(batch.numbers.size()));
    }
    shared_.record(rank_, plan_.bare_round(number), {begin, now_ns()});
    for (const auto& batch : own) account_.bare_rows += batch.numbers.size();
    return shared_.wait_for_all(waiting::patient);
  }

  status run_rounds() {
    pushed_batches batches(order_.rows, seed_of_rounds, rank_, ranks_);
    auto own = order_.rows;
    own.rows = (own.rows + ranks_ - 1) / ranks_;
    row_draws draws(own, seed_of_bare + rank_);
    bare_rows rows(own);
    for (std::uint32_t i = 0; i < plan_.rounds; ++i) {
      if (auto done = run_round(i, batches); !done.ok()) return done;
      if (auto done = verify(); !done.ok()) return done;
      if (i == order_.warmup) account_.bare_rows = 0;
      if (auto done = run_bare_round(i, rows, draws); !done.ok()) return done;
    }
    return {};
  }

  // Rank 0 compares some of the rows with what all pushes make of them.
  status verify() {
    if (reference_) {
      const auto ids = reference_->ids();
      std::vector<float> values(ids.size() * order_.rows.dim);
      if (auto done = table_.pull(ids, values).wait(); !done.ok()) return done;
      if (auto right = reference_->check(values); !right.ok()) return right;
      ++account_.verified;
    }
    return shared_.wait_for_all(waiting::patient);
  }

  const rows_order& order_;
  arena& shared_;
  tidegate::session& job_;
  tidegate::row_table table_;
  const server_processes* servers_;  // of rank 0
  std::uint32_t rank_;
  std::uint32_t ranks_;
  rows_plan plan_;
  std::vector<float> ones_;
  std::vector<float> out_;
  runtime::rng pulls_;
  std::optional<rows_reference> reference_;  // of rank 0
  arena::account account_;
};

status work(const rows_order& order, arena& shared, tidegate::session& job) {
  tidegate::row_table_options options;
  options.optimizer.name = "adagrad";
  options.init_constant = 0.0F;
  options.capacity = order.rows.rows;
  if (order.rows.memory > 0) options.memory = order.rows.memory;
  const auto table = job.open_rows("bench", order.rows.dim, options);
  if (!table) return table.error();
  runtime::expected<server_processes> servers;
  if (job.info().rank == 0) {
    servers = take_servers(order.place);
    if (!servers) return servers.error();
  }
  rows_work own(order, shared, job, *table, job.info().rank == 0 ? &*servers : nullptr);
  if (auto done = own.run(); !done.ok()) return done;
  return job.finish();
}

std::string words_of(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

}  // namespace

std::vector<std::string> rows_worker_command(const std::string& program,
                                             const rows_order& order) {
  return {program,
          "bench-rows-worker",
          order.arena,
          std::to_string(order.rows.rows),
          std::to_string(order.rows.dim),
          std::to_string(order.rows.batch),
          std::to_string(order.rows.repeats),
          std::to_string(order.warmup) + "," + std::to_string(order.place.shards),
          words_of(order.rows.zipf),
          cpu_words(order.place.cpus),
          std::to_string(order.rows.memory)};
}

runtime::expected<rows_order> parse_rows_worker(const std::vector<std::string>& args) {
  const auto bad = [] {
    return runtime::fail(
        errc::invalid_argument,
        "tidegate bench-rows-worker is internal: `tidegate bench rows --workers` starts it");
  };
  if (args.size() != words_of_order) return bad();
  rows_order order;
  order.arena = args[0];
  std::uint32_t* const numbers[] = {&order.rows.rows, &order.rows.dim, &order.rows.batch,
                                    &order.rows.repeats};
  for (std::size_t i = 0; i < std::size(numbers); ++i) {
    const auto number = parse_numbers(args[1 + i], number_max);
    if (!number || number->size() != 1 || number->front() == 0) return bad();
    *numbers[i] = number->front();
  }
  const auto pair = parse_numbers(args[5], number_max);
  if (!pair || pair->size() != 2 || pair->back() == 0) return bad();
  order.warmup = pair->front();
  order.place.shards = pair->back();
  const auto* end = args[6].data() + args[6].size();
  const auto read = std::from_chars(args[6].data(), end, order.rows.zipf);
  if (read.ec != std::errc() || read.ptr != end) return bad();
  auto cpus = parse_cpu_words(args[7]);
  if (!cpus) return bad();
  order.place.cpus = std::move(*cpus);
  const auto memory = launch::parse_unsigned(args[8]);
  if (!memory) return bad();
  order.rows.memory = *memory;
  return order;
}

int run_rows_worker(const std::vector<std::string>& args) {
  const auto order = parse_rows_worker(args);
  const auto run = [&](arena& shared, tidegate::session& job) {
    return work(*order, shared, job);
  };
  const auto done = order ? run_member(order->arena, order->place, run) : order.error();
  if (done.ok()) return 0;
  std::fprintf(stderr, "tidegate bench-rows-worker: %s\n", done.message().c_str());
  return order ? 1 : 2;
}

}  // namespace tidegate::bench
