// A worker program for end-to-end tests: `e2e_worker MODE [ARGUMENT]`.
//   workload CLOCKS [PAUSE_US [WAY [DEVICE [FIRST]]]]   the bits of tests/support/workload.hpp;
//                     tables from FIRST on are on the device
//   count CLOCKS [PAUSE_US [fewer]]   pushes integers, so that what is lost or doubled shows in
//   a
//                     sum; `fewer`: workers may leave, or join
//   forgets CLOCKS    trains from clock 0 on, whatever the session says
//   idle SECONDS      joins, opens a table, waits, finishes
//   busy SECONDS      the same, but computes instead of waiting
//   nan [CLOCK]       pushes a NaN, at that clock
//   tables NUMBER     opens so many tables, finishes
//   many TABLES ELEMENTS CLOCKS   exchanges all of so many tables, and counts as `count` does
//   shape             pushes a gradient of the wrong size
//   exit CODE         leaves without a word
//   leave             rank 1 leaves without a word and with status 0, the others train
//   forever           trains until it is killed
//   state CLOCKS BYTES LIFETIME_US PAUSE_US WAY   keeps state, kills itself; see kept_state.hpp
//   lingers CLOCKS    as workload, then stays; rank 1 takes no notice of SIGTERM
// In E2E_PULLS (the launcher keeps TIDEGATE_... to itself), a folder, it writes down when each
// pull of `workload`, `count` and `many`, and each push of `forgets`, began and was served: two
// numbers a line, unix nanoseconds, in a file of its own.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "runtime/base/rng.hpp"
#include "tests/e2e/kept_state.hpp"
#include "tests/support/workload.hpp"
#include <tidegate/session.hpp>

namespace {

using namespace tidegate;
using runtime::status;

long long unix_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Calls of what it returns are the ends. A line is written at once: the process may be killed.
std::function<void()> watch_pull() {
  static const char* const folder = std::getenv("E2E_PULLS");
  if (!folder) return [] {};
  static std::FILE* const file =
      std::fopen((std::string(folder) + "/" + std::to_string(::getpid())).c_str(), "a");
  return [begin = unix_now()] {
    if (!file) return;
    std::fprintf(file, "%lld %lld\n", begin, unix_now());
    std::fflush(file);
  };
}

status idle(tidegate::session& session, int seconds) {
  auto table = session.open_table("t", {1000});
  if (!table) return table.error();
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
  return session.finish();
}

status tables(tidegate::session& session, int number) {
  for (int i = 0; i < number; ++i)
    if (auto table = session.open_table("t" + std::to_string(i), {4}); !table)
      return table.error();
  return session.finish();
}

// Every parameter is minus the number of pushes, at every clock.
status many(tidegate::session& session, std::uint64_t count, std::uint64_t elements,
            std::uint64_t clocks) {
  std::vector<tidegate::table> all;
  tidegate::table_options options;
  options.optimizer = {.name = "sgd", .learning_rate = 1.0F};
  for (std::uint64_t i = 0; i < count; ++i) {
    auto table = session.open_table("t" + std::to_string(i), {elements}, options);
    if (!table) return table.error();
    all.push_back(*table);
  }
  while (session.now() < clocks) {
    for (const auto& table : all) std::ranges::fill(session.gradient(table), 1.0F);
    const auto served = watch_pull();
    if (auto done = session.exchange(all); !done.ok()) return done;
    served();
    const auto pushes = static_cast<float>(session.now() * session.info().workers);
    for (const auto& table : all)
      for (const auto& part : session.parameter_stretches(table))
        for (const float value : part.values)
          if (-value != pushes)
            return {runtime::errc::corrupt, std::to_string(-value) + " pushes at clock " +
                                                std::to_string(session.now())};
  }
  return session.finish();
}

status busy(tidegate::session& session, int seconds) {
  auto table = session.open_table("t", {1000});
  if (!table) return table.error();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (std::chrono::steady_clock::now() < end) {
  }
  return session.finish();
}

status push_once(tidegate::session& session, std::size_t size, float value, int clock = 0) {
  auto table = session.open_table("t", {1000});
  if (!table) return table.error();
  const std::vector<float> ones(1000, 1.0F);
  for (int before = 0; before < clock; ++before) {
    if (auto pushed = session.push(*table, ones).wait(); !pushed.ok()) return pushed;
    if (auto clocked = session.clock(); !clocked.ok()) return clocked;
  }
  const std::vector<float> gradient(size, value);
  if (auto pushed = session.push(*table, gradient).wait(); !pushed.ok()) return pushed;
  if (auto clocked = session.clock(); !clocked.ok()) return clocked;
  return session.finish();
}

void pause(runtime::rng& random, std::uint64_t us_max) {
  if (us_max > 0)
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(us_max + 1)));
}

// With SGD of rate 1, sums instead of means and parameters from 0, every parameter ends as
// minus the number of pushes: floats count exactly up to 2^24. On the way a worker never finds
// less than its own pushes, but under async, which promises nothing.
status count(tidegate::session& session, std::uint64_t clocks, std::uint64_t pause_us_max,
             bool fewer) {
  constexpr std::uint64_t elements = 5000;
  tidegate::table_options options;
  options.optimizer = {.name = "sgd", .learning_rate = 1.0F};
  auto table = session.open_table("sums", {elements}, options);
  if (!table) return table.error();
  runtime::rng pauses(session.info().rank);
  const auto all = [&](const char* when, float least, float most) -> status {
    for (const float value : session.parameters(*table))
      if (-value < least || -value > most)
        return {runtime::errc::corrupt, std::string(when) + ": " + std::to_string(-value) +
                                            " pushes, not within " + std::to_string(least) +
                                            " and " + std::to_string(most)};
    return {};
  };
  const auto pushes =
      fewer ? 16'777'216.0F : static_cast<float>(clocks * session.info().workers);
  const bool finds_its_own = session.info().policy != "async" && !fewer;
  while (session.now() < clocks) {
    const auto served = watch_pull();
    if (auto done = session.pull(*table).wait(); !done.ok()) return done;
    served();
    const auto least = finds_its_own ? static_cast<float>(session.now()) : 0.0F;
    if (auto right = all("pull", least, pushes); !right.ok()) return right;
    pause(pauses, pause_us_max);
    std::ranges::fill(session.gradient(*table), 1.0F);
    auto pushed = session.push(*table);
    if (auto done = session.clock(); !done.ok()) return done;
  }
  if (auto done = session.pull_final(*table).wait(); !done.ok()) return done;
  const auto least = fewer ? static_cast<float>(clocks) : pushes;
  if (auto right = all("at the end", least, pushes); !right.ok()) return right;
  if (fewer || session.info().rank == 0)
    session.report_metric("pushes", -session.parameters(*table)[0]);
  return session.finish();
}

status forgets(tidegate::session& session, int clocks) {
  auto table = session.open_table("t", {1000});
  if (!table) return table.error();
  const std::vector<float> gradient(1000, 1.0F);
  for (int clock = 0; clock < clocks; ++clock) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const auto served = watch_pull();
    if (auto pushed = session.push(*table, gradient).wait(); !pushed.ok()) return pushed;
    served();
    if (auto clocked = session.clock(); !clocked.ok()) return clocked;
  }
  return session.finish();
}

// Calls a function of a table whose elements are their indices over 1,000, after a clock in
// which they were pushed, and reports its results. `of_rows`: the table has rows of 4 of them,
// by the index of their first.
status call(tidegate::session& session, const std::vector<std::string>& words, bool of_rows) {
  constexpr std::uint64_t elements = 1000;
  constexpr std::uint32_t dim = 4;
  const tidegate::optimizer sgd{.name = "sgd", .learning_rate = 1.0F};
  std::vector<float> gradient(elements);
  for (std::uint64_t i = 0; i < elements; ++i) gradient[i] = -static_cast<float>(i) / elements;
  std::vector<double> arguments;
  for (std::size_t i = 2; i < words.size(); ++i) arguments.push_back(std::stod(words[i]));
  tidegate::expected<std::vector<double>> results;
  if (of_rows) {
    const auto table = session.open_rows("t", dim, {{.optimizer = sgd, .init_constant = 0.0F}});
    if (!table) return table.error();
    std::vector<std::uint64_t> ids;
    for (std::uint64_t i = 0; i < elements; i += dim) ids.push_back(i);
    if (auto pushed = table->push(ids, gradient).wait(); !pushed.ok()) return pushed;
    if (auto clocked = session.clock(); !clocked.ok()) return clocked;
    results = table->call(words[1], arguments);
  } else {
    tidegate::table_options options;
    options.optimizer = sgd;
    const auto table = session.open_table("t", {elements}, options);
    if (!table) return table.error();
    if (auto pushed = session.push(*table, gradient).wait(); !pushed.ok()) return pushed;
    if (auto clocked = session.clock(); !clocked.ok()) return clocked;
    results = session.call(*table, words[1], arguments);
  }
  if (!results) return results.error();
  for (std::size_t i = 0; session.info().rank == 0 && i < results->size(); ++i)
    session.report_metric("result_" + std::to_string(i), (*results)[i]);
  return session.finish();
}

tests::workload_way way_of(const std::string& word) {
  using enum tests::workload_way;
  if (word == "packed_ranges") return packed_ranges;
  if (word == "ranges") return ranges;
  if (word == "functions") return functions;
  if (word == "rows") return rows;
  if (word == "called_rows") return called_rows;
  return word == "exchange" ? exchange : word == "in_place" ? in_place : spans;
}

status run(tidegate::session& session, const std::vector<std::string>& words) {
  const auto& mode = words[0];
  if (mode == "call" || mode == "call_rows") return call(session, words, mode == "call_rows");
  const int argument = words.size() > 1 ? std::stoi(words[1]) : 0;
  const auto pause_us = words.size() > 2 ? std::stoull(words[2]) : 0;
  if (mode == "count")
    return count(session, static_cast<std::uint64_t>(argument), pause_us, words.size() > 3);
  if (mode == "state")
    return tests::keep_and_push(session, {.clocks = std::stoull(words.at(1)),
                                          .bytes = std::stoull(words.at(2)),
                                          .lifetime_us = std::stoull(words.at(3)),
                                          .pause_us_max = std::stoull(words.at(4)),
                                          .exchanges = words.at(5) == "exchange"});
  if (mode == "forgets") return forgets(session, argument);
  if (mode == "idle") return idle(session, argument);
  if (mode == "many")
    return many(session, std::stoull(words.at(1)), std::stoull(words.at(2)),
                std::stoull(words.at(3)));
  if (mode == "tables") return tables(session, argument);
  if (mode == "busy") return busy(session, argument);
  if (mode == "nan")
    return push_once(session, 1000, std::numeric_limits<float>::quiet_NaN(), argument);
  if (mode == "shape") return push_once(session, 999, 1.0F);
  if (mode == "exit") std::_Exit(argument);
  if (mode == "leave" && session.info().rank == 1) std::_Exit(0);
  tests::workload_options work;
  work.shapes = {{300, 300}, {10}};
  work.pause_us_max = pause_us;
  work.watch = watch_pull;
  work.way = way_of(words.size() > 3 ? words[3] : "");
  if (words.size() > 4) work.device = words[4];
  if (words.size() > 5) work.device_from = std::stoull(words[5]);
  work.clocks = mode == "forever" || mode == "leave" ? ~std::uint64_t{0}
                                                     : static_cast<std::uint64_t>(argument);
  const auto done = tests::run_workload(session, work);
  if (mode != "lingers" || !done.ok()) return done;
  if (session.info().rank == 1) std::signal(SIGTERM, SIG_IGN);
  for (;;) ::pause();
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) words.emplace_back();
  auto session = tidegate::session::connect();
  if (!session) {
    std::fprintf(stderr, "%s\n", session.error().to_string().c_str());
    return 2;
  }
  if (const auto done = run(*session, words); !done.ok()) {
    session->fail(done);
    return 1;
  }
  return 0;
}
